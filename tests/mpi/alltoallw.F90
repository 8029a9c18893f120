! SPDX-License-Identifier: BSD-3-Clause
!
! MPI_Ialltoallw and MPI_Alltoallw_init from Fortran, by the binding that is chosen
! with -D as in alltoallv.F90: the MPI makes C's arrays of types of the program's and may
! free them as soon as the call returns. Two calls are under way at a time, and their
! types are freed before they end; so is the persistent call's before its second start.
! -DALLTOALLW_INIT=: its name. -DEXTENSION: it is one of Open MPI's extensions.
!
! Rows are distributed, then columns: rank s has block (s, d) of the rows of rank s, which
! is a part of an array on both sides; every element says where it comes from.
program alltoallw
#if defined(BINDING_F08)
    use mpi_f08
#if defined(EXTENSION)
    use mpi_f08_ext
#endif
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
#if defined(BINDING_F90)
    use mpi
#if defined(EXTENSION)
    use mpi_ext
#endif
#endif
    implicit none
#if defined(BINDING_F77)
    include 'mpif.h'
#if defined(EXTENSION)
    include 'mpif-ext.h'
#endif
#endif
    integer, parameter :: n_rows = 70, n_columns = 50
    type exchange
        integer, allocatable :: sent(:, :), got(:, :), counts(:), displs(:)
        HANDLE(MPI_Datatype), allocatable :: send_types(:), recv_types(:)
        HANDLE(MPI_Request) :: request
    end type
    type(exchange), asynchronous, target :: x(3)
    integer :: rank, size, ierr, wrong, all_wrong, k

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    wrong = 0
    call set_up()

    do k = 1, 2
        call begin(x(k), k)
        call MPI_Ialltoallw(x(k)%sent, x(k)%counts, x(k)%displs, x(k)%send_types, x(k)%got, x(k)%counts, &
                            x(k)%displs, x(k)%recv_types, MPI_COMM_WORLD, x(k)%request, ierr)
        call free_types(x(k))
    end do
    do k = 2, 1, -1
        call finish(x(k), k)
    end do

    call begin(x(3), 3)
    call ALLTOALLW_INIT(x(3)%sent, x(3)%counts, x(3)%displs, x(3)%send_types, x(3)%got, x(3)%counts, &
                        x(3)%displs, x(3)%recv_types, MPI_COMM_WORLD, MPI_INFO_NULL, x(3)%request, ierr)
    do k = 3, 4
        call fill(x(3), k)
        call MPI_Start(x(3)%request, ierr)
        if (k == 3) call free_types(x(3))
        call finish(x(3), k)
    end do
    call MPI_Request_free(x(3)%request, ierr)

    call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(a,i0)', 'alltoallw: wrong ', all_wrong
    call MPI_Finalize(ierr)
    if (all_wrong /= 0) stop 1

contains

    integer function element(src, dst, row, column, round)
        integer, intent(in) :: src, dst, row, column, round
        element = ((round*32 + src)*32 + dst)*65536 + row*256 + column
    end function

    ! A blocking call sets the communicator up.
    subroutine set_up()
        integer :: ones(size), places(size), out(size), in(size), r
        ones = 1
        places = [(r, r=0, size - 1)]
        out = rank
        call MPI_Alltoallv(out, ones, places, MPI_INTEGER, in, ones, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
        if (any(in /= places)) wrong = wrong + 1
    end subroutine

    subroutine make_type(rows, columns, first_row, first_column, new)
        integer, intent(in) :: rows, columns, first_row, first_column
        HANDLE(MPI_Datatype), intent(out) :: new
        call MPI_Type_create_subarray(2, [rows, columns], [n_rows, n_columns], [first_row, first_column], &
                                      MPI_ORDER_FORTRAN, MPI_INTEGER, new, ierr)
        call MPI_Type_commit(new, ierr)
    end subroutine

    subroutine begin(e, round)
        type(exchange), intent(inout) :: e
        integer, intent(in) :: round
        integer :: r
        allocate (e%sent(n_rows*size, n_columns), e%got(n_rows, n_columns*size))
        allocate (e%counts(size), e%displs(size), e%send_types(size), e%recv_types(size))
        e%counts = 1
        e%displs = 0
        do r = 1, size
            call make_type(n_rows*size, n_columns, n_rows*(r - 1), 0, e%send_types(r))
            call make_type(n_rows, n_columns*size, 0, n_columns*(r - 1), e%recv_types(r))
        end do
        call fill(e, round)
    end subroutine

    subroutine fill(e, round)
        type(exchange), intent(inout) :: e
        integer, intent(in) :: round
        integer :: d, i, j
        do j = 1, n_columns
            do d = 0, size - 1
                do i = 1, n_rows
                    e%sent(d*n_rows + i, j) = element(rank, d, i, j, round)
                end do
            end do
        end do
        e%got = -1
    end subroutine

    ! Their memory goes to others at once; not the arrays, which are the call's until it ends.
    subroutine free_types(e)
        type(exchange), intent(in) :: e
        HANDLE(MPI_Datatype) :: gone(2*size)
        integer :: r
        gone = [e%send_types, e%recv_types]
        do r = 1, 2*size
            call MPI_Type_free(gone(r), ierr)
        end do
    end subroutine

    subroutine finish(e, round)
        type(exchange), intent(inout) :: e
        integer, intent(in) :: round
        integer :: s, i, j
        call MPI_Wait(e%request, MPI_STATUS_IGNORE, ierr)
        do s = 0, size - 1
            do j = 1, n_columns
                do i = 1, n_rows
                    if (e%got(i, s*n_columns + j) /= element(s, rank, i, j, round)) wrong = wrong + 1
                end do
            end do
        end do
    end subroutine
end program
