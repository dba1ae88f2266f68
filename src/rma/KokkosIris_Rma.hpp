// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// One-sided access, atomics, signals and waits, the barrier inside kernels, the copy engine.

#ifndef KOKKOSIRIS_RMA_HPP
#define KOKKOSIRIS_RMA_HPP

#include <rma/KokkosIris_Access.hpp>
#include <rma/KokkosIris_Atomics.hpp>
#include <rma/KokkosIris_BlockAtomics.hpp>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_CopyEnginePut.hpp>
#include <rma/KokkosIris_DeviceBarrier.hpp>
#include <rma/KokkosIris_HostAccess.hpp>
#include <rma/KokkosIris_HostAtomics.hpp>
#include <rma/KokkosIris_HostSignal.hpp>
#include <rma/KokkosIris_Quiet.hpp>
#include <rma/KokkosIris_Signal.hpp>
#include <rma/KokkosIris_TeamAccess.hpp>
#include <rma/KokkosIris_WaitUntil.hpp>

#endif
