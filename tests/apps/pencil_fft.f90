! SPDX-License-Identifier: BSD-3-Clause
!
! A 3D Fourier transform as a user would write it: the box is cut into pencils
! along x, then y, then z, and MPI_Alltoallv turns one kind into the next, inside
! the rows and then the columns of a grid of ranks. Sizes need not be divisible by
! the grid: remainders make the blocks differ. Knows nothing of fastsched.
!
!   mpiexec -n P1*P2 pencil_fft N1 N2 N3 P1 P2
!
! Prints the largest error against the known transform of a few waves, and a
! checksum of every bit of the result.
program pencil_fft
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: int64, real64
    implicit none
    integer, parameter :: n_waves = 3
    integer, parameter :: wave(3, n_waves) = reshape([1, 2, 3, 4, 0, 5, 7, 6, 1], [3, n_waves])
    real(real64), parameter :: two_pi = 6.283185307179586476925286766559_real64
    complex(real64), allocatable :: x(:, :, :), y(:, :, :), z(:, :, :)
    integer :: n(3), p(2), rank, ranks, at(2)
    type(MPI_Comm) :: row, column

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    n = [argument(1), argument(2), argument(3)]
    p = [argument(4), argument(5)]
    if (p(1)*p(2) /= ranks) call MPI_Abort(MPI_COMM_WORLD, 2)
    at = [mod(rank, p(1)), rank/p(1)]
    call MPI_Comm_split(MPI_COMM_WORLD, at(2), at(1), row)
    call MPI_Comm_split(MPI_COMM_WORLD, at(1), at(2), column)

    ! n2 is cut over the row and n3 over the column; each turn cuts what is done.
    allocate (x(n(1), share(n(2), p(1), at(1)), share(n(3), p(2), at(2))))
    allocate (y(n(2), share(n(3), p(2), at(2)), share(n(1), p(1), at(1))))
    allocate (z(n(3), share(n(1), p(1), at(1)), share(n(2), p(2), at(2))))
    call make_waves()
    call transform_lines(x)
    call turn_x_to_y()
    call transform_lines(y)
    call turn_y_to_z()
    call transform_lines(z)
    call report()
    call MPI_Finalize()

contains

    integer function argument(k)
        integer, intent(in) :: k
        character(len=16) :: text
        call get_command_argument(k, text)
        read (text, *) argument
    end function

    ! Of m things, how many part k of q has, and how many there are before it.
    integer function share(m, q, k)
        integer, intent(in) :: m, q, k
        share = (k + 1)*m/q - k*m/q
    end function

    integer function first(m, q, k)
        integer, intent(in) :: m, q, k
        first = k*m/q
    end function

    subroutine make_waves()
        integer :: i, j, k, w
        real(real64) :: turns
        x = 0
        do k = 1, size(x, 3)
            do j = 1, size(x, 2)
                do i = 1, n(1)
                    do w = 1, n_waves
                        turns = real(wave(1, w)*(i - 1), real64)/n(1) &
                                + real(wave(2, w)*(j - 1 + first(n(2), p(1), at(1))), real64)/n(2) &
                                + real(wave(3, w)*(k - 1 + first(n(3), p(2), at(2))), real64)/n(3)
                        x(i, j, k) = x(i, j, k) + w*cmplx(cos(two_pi*turns), sin(two_pi*turns), real64)
                    end do
                end do
            end do
        end do
    end subroutine

    ! By the definition: any length will do.
    subroutine transform_lines(a)
        complex(real64), intent(inout) :: a(:, :, :)
        complex(real64) :: root(0:size(a, 1) - 1), line(size(a, 1))
        integer :: i, j, k, m, length
        length = size(a, 1)
        do m = 0, length - 1
            root(m) = cmplx(cos(two_pi*m/length), -sin(two_pi*m/length), real64)
        end do
        do k = 1, size(a, 3)
            do j = 1, size(a, 2)
                line = a(:, j, k)
                do i = 1, length
                    a(i, j, k) = 0
                    do m = 1, length
                        a(i, j, k) = a(i, j, k) + line(m)*root(mod((i - 1)*(m - 1), length))
                    end do
                end do
            end do
        end do
    end subroutine

    ! a(whole, mine, other) becomes b(whole of mine, other, my share of the first):
    ! part r of the first index goes to rank r.
    subroutine turn(a, b, comm, q, n_second)
        complex(real64), intent(in) :: a(:, :, :)
        complex(real64), intent(out) :: b(:, :, :)
        type(MPI_Comm), intent(in) :: comm
        integer, intent(in) :: q, n_second
        complex(real64) :: sent(size(a)), got(size(b))
        integer :: scounts(0:q - 1), rcounts(0:q - 1), sdispls(0:q - 1), rdispls(0:q - 1)
        integer :: i, j, k, r, m

        m = 0
        do r = 0, q - 1
            sdispls(r) = m
            do i = first(size(a, 1), q, r) + 1, first(size(a, 1), q, r + 1)
                do k = 1, size(a, 3)
                    do j = 1, size(a, 2)
                        m = m + 1
                        sent(m) = a(i, j, k)
                    end do
                end do
            end do
            scounts(r) = m - sdispls(r)
            rcounts(r) = share(n_second, q, r)*size(b, 2)*size(b, 3)
            rdispls(r) = sum(rcounts(0:r - 1))
        end do
        call MPI_Alltoallv(sent, scounts, sdispls, MPI_DOUBLE_COMPLEX, got, rcounts, rdispls, MPI_DOUBLE_COMPLEX, comm)
        m = 0
        do r = 0, q - 1
            do i = 1, size(b, 3)
                do k = 1, size(b, 2)
                    do j = first(n_second, q, r) + 1, first(n_second, q, r + 1)
                        m = m + 1
                        b(j, k, i) = got(m)
                    end do
                end do
            end do
        end do
    end subroutine

    subroutine turn_x_to_y()
        call turn(x, y, row, p(1), n(2))
    end subroutine

    ! y(n2, my n3, my n1): n2 is cut over the column, which holds n3.
    subroutine turn_y_to_z()
        call turn(y, z, column, p(2), n(3))
    end subroutine

    complex(real64) function expected(i1, i2, i3)
        integer, intent(in) :: i1, i2, i3
        integer :: w
        expected = 0
        do w = 1, n_waves
            if (all(modulo(wave(:, w), n) == [i1, i2, i3])) expected = expected + w*real(n(1), real64)*n(2)*n(3)
        end do
    end function

    subroutine report()
        integer(int64) :: bits(2), mine, total
        real(real64) :: error, worst
        integer :: i, j, k
        mine = 0
        error = 0
        do k = 1, size(z, 3)
            do j = 1, size(z, 2)
                do i = 1, n(3)
                    bits = transfer(z(i, j, k), bits)
                    ! Where a value stands counts, too: no two places have the same shift and sum.
                    mine = ieor(mine, ishftc(bits(1), mod(i + 7*j + 13*k, 64)))
                    mine = ieor(mine, ishftc(bits(2), mod(i + 11*j + 17*k + rank, 64)))
                    error = max(error, abs(z(i, j, k) - expected(j - 1 + first(n(1), p(1), at(1)), &
                                                                 k - 1 + first(n(2), p(2), at(2)), i - 1)))
                end do
            end do
        end do
        call MPI_Reduce(mine, total, 1, MPI_INTEGER8, MPI_BXOR, 0, MPI_COMM_WORLD)
        call MPI_Reduce(error, worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
        if (rank == 0) print '(a,z16.16,a,es8.1)', 'pencil_fft: checksum ', total, ', error ', worst/(real(n(1), real64)*n(2)*n(3))
        if (rank == 0 .and. worst > 1e-9*real(n(1), real64)*n(2)*n(3)) call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program
