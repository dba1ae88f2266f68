# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# cmake -DREADME=<file> -DSOURCE=<file> -P compare_readme.cmake
# fails unless README's first ```cpp block is SOURCE, without the two licence lines and the empty line
# at its head.
file(READ ${README} readme)
string(FIND "${readme}" "\n```cpp\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${README} has no \`\`\`cpp block")
endif()
math(EXPR begin "${begin} + 8")
string(SUBSTRING "${readme}" ${begin} -1 block)
string(FIND "${block}" "```" end)
string(SUBSTRING "${block}" 0 ${end} block)

file(READ ${SOURCE} source)
string(REGEX REPLACE "^(// SPDX-[^\n]*\n)+\n*" "" source "${source}")
if(NOT block STREQUAL source)
  message(FATAL_ERROR "The first \`\`\`cpp block of ${README}\n----\n${block}----\n"
                      "differs from ${SOURCE}\n----\n${source}----")
endif()
