"""Uploads to /imp."""
import http.client


def imp(s, data, query="", boundary="B", quoted=False, name="data", schema=None):
    body = b""
    if schema is not None:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="schema"\r\n\r\n{schema}\r\n'.encode()
    body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="f.csv"\r\n\r\n'.encode() + data + f"\r\n--{boundary}--\r\n".encode()
    host, port = s.http.rsplit(":", 1)
    c = http.client.HTTPConnection(host, int(port), timeout=60)
    mark = f'"{boundary}"' if quoted else boundary
    c.request("POST", "/imp?" + query, body, {"Content-Type": f"multipart/form-data; boundary={mark}"})
    r = c.getresponse()
    return r.status, r.read().decode()
