# SPDX-License-Identifier: BSD-3-Clause
# Copy into a Spack repository as packages/fastsched/package.py. There is no public release yet:
#   spack install --source fastsched@main ^openmpi@4.1   with  spack develop --path SOURCES fastsched@main

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Fastsched(AutotoolsPackage):
    """Schedules skewed MPI_Alltoallv, MPI_Alltoall and MPI_Alltoallw: a component of Open MPI, a
    library in front of MPICH, a library and a command."""

    license("BSD-3-Clause", checked_by="fastsched authors")

    version("main")

    variant("openmpi", default=True, description="The component of Open MPI")
    variant("mpich", default=False, description="The library in front of MPICH")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("ucx@1.12:")
    depends_on("hwloc@2:")
    # Open MPI 5 does not install all of its internal headers: build it by hand for that.
    depends_on("openmpi@4.1", when="+openmpi")
    depends_on("mpich@4:", when="+mpich")
    depends_on("python@3.7:", type="run")

    conflicts("+openmpi", when="+mpich", msg="a Spack environment has one MPI: openmpi or mpich")

    def autoreconf(self, spec, prefix):
        Executable("./bootstrap")()

    def configure_args(self):
        spec = self.spec
        args = ["--with-ucx", "--with-hwloc", "--without-fftw", "--without-check"]
        for mpi, option in (("openmpi", "ompi"), ("mpich", "mpich")):
            if spec.satisfies("+" + mpi):
                args.append(f"--with-{option}={spec[mpi].prefix}")
            else:
                args.append(f"--without-{option}")
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+openmpi"):
            path = f"SYS_DEFAULT:{self.prefix.lib.openmpi}:USER_DEFAULT"
            env.set("OMPI_MCA_mca_base_component_path", path)
