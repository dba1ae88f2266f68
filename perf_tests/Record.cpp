// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <Record.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace Bench {
namespace {

using Json = nlohmann::ordered_json;

const char* to_string(Target::Kind kind) {
  switch (kind) {
    case Target::Kind::none:
      break;
    case Target::Kind::speedup_at_least:
      return "speedup_at_least";
    case Target::Kind::time_ratio_at_most:
      return "time_ratio_at_most";
    case Target::Kind::microseconds_at_most:
      return "microseconds_at_most";
  }
  return "none";
}

std::string shape_of(const Record& record) {
  if (record.m > 0) {
    return std::to_string(record.m) + "x" + std::to_string(record.n) + "x" +
           std::to_string(record.k);
  }
  if (record.bytes == 0) return "";
  if (record.bytes % (1 << 20) == 0) return std::to_string(record.bytes >> 20) + " MiB";
  if (record.bytes % (1 << 10) == 0) return std::to_string(record.bytes >> 10) + " KiB";
  return std::to_string(record.bytes) + " B";
}

std::string target_of(const Record& record) {
  char text[64] = "", limit[32] = "", ideals[32] = "";
  const double value = record.target.value;
  const bool has_tenths = std::abs(value * 10.0 - std::round(value * 10.0)) < 1e-9;
  if (record.target.most_us > 0.0) {
    std::snprintf(limit, sizeof(limit), " and %.2f us", record.target.most_us);
  }
  if (record.target.most_ideals > 0.0) {
    std::snprintf(ideals, sizeof(ideals), " and <= %.2f ideal", record.target.most_ideals);
  }
  switch (record.target.kind) {
    case Target::Kind::none:
      return "";
    case Target::Kind::speedup_at_least:
      std::snprintf(text, sizeof(text), "speedup >= %.2f", value);
      break;
    case Target::Kind::time_ratio_at_most:
      std::snprintf(text, sizeof(text), has_tenths ? "time <= %.1f x" : "time <= %.2f x", value);
      break;
    case Target::Kind::microseconds_at_most:
      std::snprintf(text, sizeof(text), value < 10.0 ? "time <= %.2f us" : "time <= %.0f us",
                    value);
      break;
  }
  return std::string(text) + limit + ideals + (record.met() ? "  met" : "  MISSED");
}

std::string number_or_dash(const char* format, double value) {
  char text[32] = "-";
  if (value > 0.0) std::snprintf(text, sizeof(text), format, value);
  return text;
}

Json object_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

Json number_or_null(double value) { return value > 0.0 ? Json(value) : Json(nullptr); }

Json to_json(const Record& record, const Surroundings& surroundings) {
  Json json;
  json["op"] = record.op;
  json["form"] = record.form;
  json["backend"] = record.backend;
  json["ranks"] = record.ranks;
  if (!record.type.empty()) json["type"] = record.type;
  if (record.m > 0) {
    json["m"] = record.m;
    json["n"] = record.n;
    json["k"] = record.k;
  }
  if (record.bytes > 0) json["bytes"] = record.bytes;
  json["time_us"] = record.time_us;
  json["ideal_us"] = number_or_null(record.ideal_us);
  json["time_by_ideal"] = number_or_null(record.ideals());
  json["baseline"] = record.baseline.empty() ? Json(nullptr) : Json(record.baseline);
  json["baseline_us"] = number_or_null(record.baseline_us);
  json["speedup"] = number_or_null(record.speedup());
  for (const auto& [name, us] : record.others) json["others_us"][name] = us;
  if (!record.engine.empty()) json["engine"] = record.engine;
  if (record.target.kind != Target::Kind::none) {
    json["target"] = record.target.value;
    json["target_kind"] = to_string(record.target.kind);
    if (record.target.most_us > 0.0) json["target_us"] = record.target.most_us;
    if (record.target.most_ideals > 0.0) json["target_by_ideal"] = record.target.most_ideals;
    json["met"] = record.met();
  }
  json["samples"] = record.samples;
  json["machine"] = {{"cpu", surroundings.processor}, {"cores", surroundings.cores}};
  if (!surroundings.gpu.empty()) {
    json["machine"]["gpu"] = surroundings.gpu;
    json["machine"]["gpus"] = surroundings.gpus;
  }
  json["versions"] = object_of(surroundings.versions);
  json["environment"] = object_of(surroundings.environment);
  json["command"] = surroundings.command;
  json["date"] = surroundings.date;
  return json;
}

}  // namespace

bool Record::met() const {
  if (target.most_us > 0.0 && time_us > target.most_us) return false;
  if (target.most_ideals > 0.0 && ideals() > target.most_ideals) return false;
  switch (target.kind) {
    case Target::Kind::none:
      return true;
    case Target::Kind::speedup_at_least:
      return speedup() >= target.value;
    case Target::Kind::time_ratio_at_most:
      return time_us <= target.value * baseline_us;
    case Target::Kind::microseconds_at_most:
      return time_us <= target.value;
  }
  return false;
}

bool Record::sane() const {
  const bool timed = std::isfinite(time_us) && time_us > 0.0;
  return timed && (baseline.empty() || (std::isfinite(baseline_us) && baseline_us > 0.0));
}

void print_table(const std::vector<Record>& records, const Surroundings& surroundings) {
  std::printf("%s, %d cores;", surroundings.processor.c_str(), surroundings.cores);
  if (!surroundings.gpu.empty()) {
    std::printf(" %d x %s;", surroundings.gpus, surroundings.gpu.c_str());
  }
  for (const auto& [name, version] : surroundings.versions) {
    std::printf(" %s %s;", name.c_str(), version.c_str());
  }
  std::printf(" %s\ntime in us, maximum over ranks of the rank's median; GB/s of our time\n\n",
              surroundings.date.c_str());
  std::printf("%-22s %-11s %-8s %5s %-17s %10s %7s %10s %7s %-28s %10s %7s  %-9s %s\n", "operation",
              "form", "type", "ranks", "size", "time", "GB/s", "ideal", "/ ideal", "baseline",
              "time", "speedup", "engine", "target");
  for (const Record& r : records) {
    const double rate = r.bytes >= 4096 ? static_cast<double>(r.bytes) / r.time_us * 1e-3 : 0;
    std::printf(
        "%-22s %-11s %-8s %5d %-17s %10.3f %7s %10s %7s %-28s %10s %7s  %-9s %s\n", r.op.c_str(),
        r.form.c_str(), r.type.c_str(), r.ranks, shape_of(r).c_str(), r.time_us,
        number_or_dash("%.2f", rate).c_str(), number_or_dash("%.3f", r.ideal_us).c_str(),
        number_or_dash("%.3f", r.ideals()).c_str(), r.baseline.c_str(),
        number_or_dash("%.3f", r.baseline_us).c_str(), number_or_dash("%.3f", r.speedup()).c_str(),
        r.engine.c_str(), target_of(r).c_str());
  }
  std::fflush(stdout);
}

void write_json(const std::string& path, bool append, const std::vector<Record>& records,
                const Surroundings& surroundings) {
  Json all = Json::array();
  if (std::ifstream existing(path);
      append && existing && existing.peek() != std::ifstream::traits_type::eof())
    all = Json::parse(existing);
  if (!all.is_array()) throw std::runtime_error(path + " holds no JSON array to append to");
  for (const Record& record : records) all.push_back(to_json(record, surroundings));
  std::ofstream file(path);
  file << all.dump(1) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace Bench
