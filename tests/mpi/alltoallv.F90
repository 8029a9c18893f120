! SPDX-License-Identifier: BSD-3-Clause
!
! MPI_Alltoallv from Fortran, by the binding that is chosen with -D: BINDING_F77
! (mpif.h), BINDING_F90 (use mpi), BINDING_F08 (use mpi_f08). Uneven blocks, once
! into another buffer and once in place; every element says where it comes from.
program alltoallv
#if defined(BINDING_F08)
    use mpi_f08
#elif defined(BINDING_F90)
    use mpi
#endif
    implicit none
#if defined(BINDING_F77)
    include 'mpif.h'
#endif
    integer :: rank, size, ierr, wrong, all_wrong
    integer, allocatable :: scounts(:), sdispls(:), rcounts(:), rdispls(:), sent(:), got(:)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    allocate (scounts(size), sdispls(size), rcounts(size), rdispls(size))

    call lay_out()
    call fill(sent, scounts, sdispls)
    got = -1
    call MPI_Alltoallv(sent, scounts, sdispls, MPI_INTEGER, got, rcounts, rdispls, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    wrong = count_wrong()

    ! In place a pair has one count: that of the lower rank.
    call make_even()
    call fill(got, rcounts, rdispls)
    call MPI_Alltoallv(MPI_IN_PLACE, scounts, sdispls, MPI_INTEGER, got, rcounts, rdispls, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    wrong = wrong + count_wrong()

    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(a,i0)', 'alltoallv: wrong ', all_wrong
    call MPI_Finalize(ierr)
    if (all_wrong /= 0) stop 1

contains

    integer function elements(src, dst)
        integer, intent(in) :: src, dst
        elements = 1000 + 700*mod(3*src + 5*dst, 4)
    end function

    integer function element(src, dst, k)
        integer, intent(in) :: src, dst, k
        element = (src*64 + dst)*65536 + k
    end function

    subroutine lay_out()
        integer :: r
        do r = 1, size
            scounts(r) = elements(rank, r - 1)
            rcounts(r) = elements(r - 1, rank)
        end do
        call place()
    end subroutine

    subroutine make_even()
        integer :: r
        do r = 1, size
            rcounts(r) = elements(min(rank, r - 1), max(rank, r - 1))
        end do
        scounts = rcounts
        call place()
    end subroutine

    subroutine place()
        integer :: r
        sdispls(1) = 0
        rdispls(1) = 0
        do r = 2, size
            sdispls(r) = sdispls(r - 1) + scounts(r - 1)
            rdispls(r) = rdispls(r - 1) + rcounts(r - 1)
        end do
        if (allocated(sent)) deallocate (sent, got)
        allocate (sent(sum(scounts)), got(sum(rcounts)))
    end subroutine

    subroutine fill(buffer, counts, displs)
        integer, intent(inout) :: buffer(:)
        integer, intent(in) :: counts(:), displs(:)
        integer :: r, k
        do r = 1, size
            do k = 1, counts(r)
                buffer(displs(r) + k) = element(rank, r - 1, k)
            end do
        end do
    end subroutine

    integer function count_wrong()
        integer :: r, k
        count_wrong = 0
        do r = 1, size
            do k = 1, rcounts(r)
                if (got(rdispls(r) + k) /= element(r - 1, rank, k)) count_wrong = count_wrong + 1
            end do
        end do
    end function
end program
