"""HTTP as bytes: what a client library would not send, and all that came back."""
import socket


def raw(address, *parts, timeout=10):
    """Bytes as they are; (all that came back, did the server close within `timeout`?)."""
    host, port = address.rsplit(":", 1)
    got, closed = b"", False
    with socket.create_connection((host, int(port)), timeout=30) as s:
        try:
            for part in parts:
                s.sendall(part)
            s.settimeout(timeout)
            while True:
                block = s.recv(65536)
                if not block:
                    closed = True
                    break
                got += block
        except socket.timeout:
            pass
        except ConnectionError:
            closed = True
    return got, closed


def heads(got):
    """Status and headers (lower case names) of each answer in these bytes, bodies by Content-Length or chunks."""
    out = []
    while got:
        head, _, got = got.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        status = int(lines[0].split(" ")[1])
        out.append((status, headers))
        if "content-length" in headers:
            got = got[int(headers["content-length"]):]
        elif headers.get("transfer-encoding") == "chunked":
            _, _, got = got.partition(b"0\r\n\r\n")
    return out
