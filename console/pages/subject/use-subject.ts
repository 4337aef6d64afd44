// The reads of a subject, which the parts of its page share.

import { useRead } from '../../api/queries.ts'
import { useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'

/** The versions of a page. */
export const VERSIONS_AT_ONCE = 25
/** The most versions that a choice offers. */
const MOST_VERSIONS = 1_000

/** Reads the subject with the page of versions that the address names. */
export function useSubject(subject: string) {
  const { search } = useHere('subject')
  const isOn = useCapability('schema-registry')?.state === 'on'
  const query = { offset: search.offset ?? 0, limit: VERSIONS_AT_ONCE }
  return useRead('describe schema subject', { params: { subject }, query }, { isWanted: isOn })
}

/** Reads the subject with all its versions, for a choice. */
export function useAllVersions(subject: string) {
  return useRead('describe schema subject', { params: { subject }, query: { limit: MOST_VERSIONS } })
}
