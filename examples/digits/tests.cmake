# SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

foreach(ranks 1 2 4)
  kokkosiris_add_mpi_test(
    NAME Example.digits.ranks=${ranks}
    TARGET KokkosIris_Example_digits
    RANKS ${ranks}
    LABELS example)
endforeach()
