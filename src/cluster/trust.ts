// Which processes this broker trusts as brokers of its cluster: those with a record in the store. Their certificates
// are in the records too, so brokers recognise each other without an authority (docs/decisions/0052). This file opens
// no connection.

import { createHash } from 'node:crypto'
import { type Clock, type Timer, within } from '../base/clock.ts'
import type { ServerCertificate } from '../tls/server-certificate.ts'
import type { Cluster } from './cluster.ts'

/**
 * Resolves with whether another process with this id and this incarnation has a record in the store. Looks at the
 * store if the process is not in the last view, because it may have just started.
 */
export async function isMember(
  cluster: Pick<Cluster, 'others' | 'look'>,
  { id, incarnation }: { readonly id: number; readonly incarnation: string },
): Promise<boolean> {
  const isKnown = () => cluster.others().some(each => each.id === id && each.incarnation === incarnation)
  if (isKnown()) return true
  await cluster.look()
  return isKnown()
}

/**
 * Returns whether another broker of the cluster presents the certificate with this SHA-256 fingerprint, in the form of
 * X509Certificate.fingerprint256.
 */
export function acceptsPeer(cluster: Pick<Cluster, 'others'>, fingerprint256: string): boolean {
  return cluster.others().some(({ certificates }) => certificates.some(each => fingerprintOf(each) === fingerprint256))
}

/** Returns the SHA-256 fingerprint of a certificate of a record, in the form of X509Certificate.fingerprint256. */
export function fingerprintOf(certificate: string): string {
  const digest = createHash('sha256').update(certificate, 'base64').digest('hex').toUpperCase()
  return digest.match(/../g)!.join(':')
}

/** The time in ms for which the record keeps a replaced certificate, for connections that have begun with it. */
const REPLACED_MS = 60_000

/** The longest time in ms that a new certificate waits for the store. */
const WAIT_MS = 10_000

/**
 * Keeps the certificates of this broker in its record: now, and from before each new pair is in use. If the store does
 * not answer, the new pair is used all the same, and other brokers refuse it until the store has the record.
 */
export function presentCertificate(
  cluster: Pick<Cluster, 'present'>,
  certificate: ServerCertificate,
  clock: Clock,
): void {
  let dropping: Timer | null = null
  const encode = ({ raw }: { readonly raw: Buffer }) => raw.toString('base64')
  certificate.beforeUse(async next => {
    dropping?.cancel()
    const presented = cluster.present([encode(next), encode(certificate.leaf)])
    await within(clock, WAIT_MS, presented, () => {})
    dropping = clock.timer(REPLACED_MS, () => void cluster.present([encode(next)]))
  })
  void cluster.present([encode(certificate.leaf)])
}
