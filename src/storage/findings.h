/* findings.h - where a verification reports what it finds: of a data directory (check/), a backup or an archive (backup/). */
#ifndef ALM_STORAGE_FINDINGS_H
#define ALM_STORAGE_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct alm_findings {
    void (*report)(void *arg, const char *line); /* may be NULL */
    void *arg;
    int64_t n;
} alm_findings;

/* A line that does not count. */
static inline void alm_findings_note(const alm_findings *findings, const char *line)
{
    if (findings->report != NULL)
        findings->report(findings->arg, line);
}

/* One finding; `arg` is an alm_findings. */
static inline void alm_findings_add(void *arg, const char *line)
{
    alm_findings *findings = arg;
    findings->n++;
    alm_findings_note(findings, line);
}

#endif
