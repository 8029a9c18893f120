/* Preloaded into every rank of the lab: TCP connections to the data network
 * leave from the address of the rank's own NIC, $LAB_NIC_ADDR; the routing rule
 * for that address does the rest.  UCX does this itself from version 1.18 on;
 * before, the kernel took the first NIC for all ranks of a server. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

typedef int connect_fn_t(int, const struct sockaddr *, socklen_t);

static const uint32_t data_network_mask = 0xffff0000; /* 10.98.0.0/16 */

static int is_unbound(int fd)
{
    struct sockaddr_in own;
    socklen_t          len = sizeof(own);

    return (getsockname(fd, (struct sockaddr *)&own, &len) == 0) &&
           (own.sin_family == AF_INET) &&
           (own.sin_addr.s_addr == htonl(INADDR_ANY)) && (own.sin_port == 0);
}

static void bind_to_nic(int fd, const struct sockaddr_in *dest)
{
    const char        *text = getenv("LAB_NIC_ADDR");
    struct sockaddr_in nic  = {.sin_family = AF_INET};
    const int          one  = 1;
    uint32_t           differ;

    if ((text == NULL) || (inet_pton(AF_INET, text, &nic.sin_addr) != 1)) {
        return;
    }

    differ = ntohl(nic.sin_addr.s_addr ^ dest->sin_addr.s_addr);
    if (((differ & data_network_mask) == 0) && is_unbound(fd)) {
        /* The port is chosen by connect(), as if we had not been here. */
        (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
                         sizeof(one));
        (void)bind(fd, (const struct sockaddr *)&nic, sizeof(nic));
    }
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    static connect_fn_t *next;

    if (next == NULL) {
        next = (connect_fn_t *)dlsym(RTLD_NEXT, "connect");
    }

    if ((addr != NULL) && (len >= sizeof(struct sockaddr_in)) &&
        (addr->sa_family == AF_INET)) {
        bind_to_nic(fd, (const struct sockaddr_in *)addr);
    }

    return next(fd, addr, len);
}
