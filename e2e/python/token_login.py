# Fetches tokens for OAUTHBEARER by the grant client_credentials (RFC 6749, section 4.4), for the two clients of this
# folder, which leave that to the application.

import base64
import json
import time
import urllib.parse
import urllib.request


def fetch_token(endpoint, client_id, client_secret, scope):
    """Returns the token, and the time at which it expires, in seconds of time.time()."""
    basic = ':'.join(urllib.parse.quote(part, safe='') for part in (client_id, client_secret))
    request = urllib.request.Request(
        endpoint,
        data=urllib.parse.urlencode({'grant_type': 'client_credentials', 'scope': scope}).encode(),
        headers={'Authorization': 'Basic ' + base64.b64encode(basic.encode()).decode()},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        answer = json.load(response)
    return answer['access_token'], time.time() + answer['expires_in']
