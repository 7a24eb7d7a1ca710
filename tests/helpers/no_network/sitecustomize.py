"""Python imports this at start-up where its folder is on PYTHONPATH: only loopback can be reached.

Every other address is refused and noted in the file that REFUSED_ADDRESSES names, so that a caller
which swallows the error is found out as well. Processes that are started inherit it.
"""

import ipaddress
import os
import socket
import sys

EVENTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")


def is_local(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host in (None, "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event not in EVENTS:
        return
    host = arguments[0]
    if event != "socket.getaddrinfo":
        channel, address = arguments[:2]
        if getattr(channel, "family", None) not in (socket.AF_INET, socket.AF_INET6):
            return
        host = address[0] if isinstance(address, tuple) else address
    if not is_local(host):
        with open(os.environ["REFUSED_ADDRESSES"], "a") as notes:
            notes.write(f"{event} {host}\n")
        raise OSError(f"{event} {host}: only loopback can be reached here")


sys.addaudithook(refuse)
