/* validate.h - answers what is wrong with the statements of the parameter `query` (session/statement/validate.h). Private to net/http. */
#ifndef ALM_NET_HTTP_VALIDATE_H
#define ALM_NET_HTTP_VALIDATE_H

#include "net/http/exchange/http.h"

/* With all parameters there; on a query thread. */
void alm_validate_run(alm_http *http);
void alm_validate_close(alm_http *http);

#endif
