-- SPDX-License-Identifier: BSD-3-Clause
-- Module file for Lmod: copy it to MODULEPATH/fastsched/VERSION.lua and set the prefix. Lmod says
-- which file it reads, so a copy in PREFIX/share/modulefiles/fastsched needs no change.
local prefix = os.getenv("FASTSCHED_PREFIX") or myFileName():match("^(.*)/share/modulefiles/")

help([[
fastsched serves MPI_Alltoallv, MPI_Alltoall and MPI_Alltoallw.
This module makes it available. It is used only where a job asks for it:
  Open MPI   mpirun --mca coll fast ./app   or   export OMPI_MCA_coll_fast_priority=100
  MPICH      mpich-fast mpiexec ./app
Manual: man coll_fast, man mpich_coll_fast, man fastsched
]])
whatis("Name: fastsched")
whatis("Description: scheduled MPI_Alltoallv for clusters with slow links and skewed traffic")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)

-- SYS_DEFAULT stays first: Open MPI stops its search at a directory that does not exist, and a
-- server without this one then still has Open MPI's own components.
setenv("OMPI_MCA_mca_base_component_path",
    "SYS_DEFAULT:" .. pathJoin(prefix, "lib/openmpi") .. ":USER_DEFAULT")
