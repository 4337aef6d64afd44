// Reports the health of this broker for probes and people: the status of each component and of the whole. The HTTP
// routes choose which details a caller sees. This file changes and repairs nothing.
//
//   component      asks                                          DOWN when
//   redis | store  every server of the store for a sign of life  one is silent for 2 s, refuses, or refuses slots
//   broker         the gauge svc.broker.up                       0: before the listeners are open, while draining;
//                                                                never without the Kafka listener (broker.enabled)
//   diskSpace      the file system of the data folder            less than 10 MiB are free
//   storageWorker  the lease of the storage worker              never: its details say if no broker holds the lease,
//                                                                or brokers have not run the last round
//   remoteStorage  the remote tier of this broker, if it has    never: its details say if its place is away, or if
//                  one                                          segments do not get there
//   schemaRegistry the judge of produced records, if the      never: its details say how many records were not valid
//                  schema registry is on
//   ssl            the certificates of ports that speak TLS      one is not valid yet or no longer valid
//   ping           nothing: the answer itself is the sign        never
//
// The answers of the store and of the file system are kept for 5 s, and all callers in that time share them. So the
// store gets one question in five seconds, even from a thousand probes a second.

import { statfs } from 'node:fs/promises'
import type { Check, Status } from '../api/health.ts'
import { type Clock, within } from '../base/clock.ts'
import type { CatalogueKeeper } from '../log/catalogue.ts'
import type { Logs } from '../log/logs.ts'
import type { RegistryJudge } from '../registry/judge/judge.ts'
import { isLoopback } from '../settings/endpoints.ts'
import { chooseEngine } from '../settings/engine.ts'
import type { Settings } from '../settings/settings.ts'
import type { Pong, Store } from '../store/store.ts'
import type { RemoteTier } from '../tier/remote/remote-tier.ts'
import type { StorageWorker } from '../tier/worker.ts'
import type { CertificateState } from '../tls/server-certificate.ts'
import { remoteDetails } from './remote-health.ts'
import { registryDetails } from './schemas/registry-health.ts'
import { whyNoHolder } from './storage-worker.ts'

/** The details of a component. They contain addresses and versions, so only signed-in users see them. */
export type Details = Readonly<Record<string, unknown>>

export interface Component {
  readonly status: Status
  readonly details: Details
}

export interface HealthTree {
  /** The worst status of all components. */
  readonly status: Status
  readonly components: Readonly<Record<string, Component>>
}

export interface Health {
  tree(): Promise<HealthTree>
  /**
   * Returns whether the process is alive. This does not depend on the store, because a restart would not repair the
   * store.
   */
  liveness(): HealthTree
  /** Resolves to UP if clients should be sent here: the store answers, and the broker serves and does not drain. */
  readiness(): Promise<HealthTree>
  checks(): Promise<readonly Check[]>
}

export interface HealthRooms {
  readonly store: Pick<Store, 'ping'>
  readonly settings: Settings
  readonly clock: Clock
  /** Returns whether the gauge svc.broker.up is 1. */
  readonly isUp: () => boolean
  /** Returns the certificate of each port that speaks TLS. */
  readonly certificates: () => readonly CertificateState[]
  readonly storageWorker: Pick<StorageWorker, 'holder' | 'round' | 'withoutFeature'>
  /** Null on a broker without storage.remote.path. */
  readonly remoteTier: Pick<RemoteTier, 'uri' | 'state' | 'backlog'> | null
  readonly catalogue: Pick<CatalogueKeeper, 'current'>
  readonly logs: Pick<Logs, 'unreadTables'>
  /** Null if the schema registry is switched off. */
  readonly judge: Pick<RegistryJudge, 'judged'> | null
}

/** A process without the Kafka listener has no broker that could be down, and it shall receive HTTP clients. */
const WITHOUT_LISTENER: Component = Object.freeze({
  status: 'UP',
  details: { isEnabled: false, reason: 'Kafka clients cannot connect to this process (svc.broker.enabled=false).' },
})

const KEEP_MS = 5_000
const TIMEOUT_MS = 2_000
const LEAST_FREE_BYTES = 10 * 1024 * 1024

export function createHealth(rooms: HealthRooms): Health {
  const { store, settings, clock, isUp } = rooms
  const pings = keeping(clock, () => store.ping(TIMEOUT_MS))
  const disk = keeping(clock, () => diskSpace(settings, clock))
  const registry = keeping(clock, async () => schemaRegistry(rooms))
  const broker = (): Component =>
    settings.get('broker.enabled') ? { status: isUp() ? 'UP' : 'DOWN', details: {} } : WITHOUT_LISTENER
  const storeComponent = async () => {
    const pongs = await pings()
    return { [pongs.every(({ part }) => part === 'store') ? 'store' : 'redis']: componentOf(pongs) }
  }

  return {
    async tree() {
      const [ofStore, ofDisk, ofRegistry] = await Promise.all([storeComponent(), disk(), registry()])
      return treeOf({
        ...ofStore,
        broker: broker(),
        diskSpace: ofDisk,
        ping: { status: 'UP', details: {} },
        storageWorker: storageWorker(rooms),
        ...remoteStorage(rooms),
        ...ofRegistry,
        ssl: ssl(rooms.certificates(), clock),
        ...openDoor(settings),
      })
    },
    liveness: () => treeOf({ livenessState: { status: 'UP', details: {} } }),
    async readiness() {
      const ofStore = await storeComponent()
      return treeOf({ readinessState: { status: isUp() ? 'UP' : 'OUT_OF_SERVICE', details: {} }, ...ofStore })
    },
    async checks() {
      const pongs = await pings()
      return [...new Set(pongs.map(({ part }) => part))].map(part => {
        const own = pongs.filter(pong => pong.part === part)
        const tookMs = Math.round(Math.max(...own.map(pong => pong.tookMs)))
        return { name: `${part}-connectivity` as const, tookMs, ...componentOf(own) }
      })
    },
  }
}

/**
 * Returns a function that does the work and keeps its result for KEEP_MS from the start of the work. All callers in
 * that time share the result.
 */
function keeping<T>(clock: Clock, work: () => Promise<T>): () => Promise<T> {
  let kept: { readonly untilMs: number; readonly answer: Promise<T> } | null = null
  return () => {
    const nowMs = clock.monotonic()
    if (kept === null || nowMs >= kept.untilMs) kept = { untilMs: nowMs + KEEP_MS, answer: work() }
    return kept.answer
  }
}

const SEVERITY: Readonly<Record<Status, number>> = { UP: 0, OUT_OF_SERVICE: 1, DOWN: 2 }

function treeOf(components: Readonly<Record<string, Component>>): HealthTree {
  const worst = (one: Status, other: Status) => (SEVERITY[one] < SEVERITY[other] ? other : one)
  const status = Object.values(components).reduce<Status>((all, each) => worst(all, each.status), 'UP')
  return { status, components }
}

function componentOf(pongs: readonly Pong[]): Component {
  const servers = pongs.map(({ part, place, failure, tookMs, durability }) => ({
    part,
    place,
    status: failure === null ? 'UP' : 'DOWN',
    tookMs: Math.round(tookMs),
    ...(failure === null ? {} : { failure }),
    durability,
  }))
  return { status: pongs.every(({ failure }) => failure === null) ? 'UP' : 'DOWN', details: { servers } }
}

/** Measures the file system of the data folder, or of the working folder if the broker has no data folder. */
async function diskSpace(settings: Settings, clock: Clock): Promise<Component> {
  const isEmbedded = chooseEngine(settings).engine === 'embedded'
  const path = isEmbedded ? settings.get('storage.local.embedded.path') : '.'
  const asked = statfs(path).then(
    ({ blocks, bavail, bsize }) => {
      const freeBytes = bavail * bsize
      const details = { path, totalBytes: blocks * bsize, freeBytes, thresholdBytes: LEAST_FREE_BYTES }
      return { status: freeBytes < LEAST_FREE_BYTES ? ('DOWN' as const) : ('UP' as const), details }
    },
    (error: Error) => ({ status: 'DOWN' as const, details: { path, failure: error.message } }),
  )
  // A file system on a network may not answer at all.
  return await within(clock, TIMEOUT_MS, asked, () => {
    return { status: 'DOWN', details: { path, failure: `no answer within ${TIMEOUT_MS} ms` } }
  })
}

/**
 * Returns the broker that holds the lease, and a warning if no broker does, if a broker has not run its part of the
 * newest round of this broker, or if a broker prevents cleaning. The status is UP, because clients are served all the
 * same.
 */
function storageWorker(rooms: Pick<HealthRooms, 'storageWorker' | 'settings'>): Component {
  const holder = rooms.storageWorker.holder()
  const troubled = rooms.storageWorker.round()?.brokers.filter(({ trouble }) => trouble !== null) ?? []
  const missing = rooms.storageWorker.withoutFeature()
  const warnings = [
    ...(holder === null ? [whyNoHolder(rooms)] : troubled.map(({ id, trouble }) => `Broker ${id}: ${trouble}`)),
    ...(missing.length === 0
      ? []
      : [
          `No partition is cleaned until these brokers run a version that can read a cleaned log: ${missing.join(', ')}.`,
        ]),
  ]
  const details = { holder: holder?.id ?? null, ...(warnings.length > 0 && { warning: warnings.join(' ') }) }
  return { status: 'UP', details }
}

/** Returns nothing without a remote tier. */
function remoteStorage(rooms: HealthRooms): Readonly<Record<string, Component>> {
  const details = remoteDetails(rooms)
  return details === null ? {} : { remoteStorage: { status: 'UP', details } }
}

/** Returns nothing without a schema registry. Records that are not valid are no failure of the broker. */
function schemaRegistry(rooms: HealthRooms): Readonly<Record<string, Component>> {
  const details = registryDetails(rooms)
  return details === null ? {} : { schemaRegistry: { status: 'UP', details } }
}

/**
 * Returns DOWN if a certificate is not valid at this time. Without TLS it returns UP. If new files cannot replace a
 * valid certificate, the component says so and stays up.
 */
function ssl(states: readonly CertificateState[], clock: Clock): Component {
  const nowMs = clock.now()
  const isValid = ({ validFrom, validTo }: CertificateState) =>
    nowMs >= validFrom.getTime() && nowMs < validTo.getTime()
  const certificates = states.map(({ port, subject, validFrom, validTo, failure }) => ({
    port,
    subject,
    validFrom: validFrom.toISOString(),
    validTo: validTo.toISOString(),
    ...(failure === null ? {} : { failure }),
  }))
  return { status: states.every(isValid) ? 'UP' : 'DOWN', details: { certificates } }
}

/** Returns a warning if the API asks no caller to sign in. The status is UP, because the operator configured this. */
function openDoor(settings: Settings): Readonly<Record<string, Component>> {
  if (settings.get('admin.security-enabled')) return {}
  const address = settings.get('server.address') ?? '0.0.0.0'
  const warning = isLoopback(address)
    ? 'Every program on this machine may do everything (svc.admin.security-enabled=false).'
    : `INSECURE: every client that reaches ${address} may do everything (svc.admin.security-enabled=false).`
  return { adminSecurity: { status: 'UP', details: { isEnabled: false, address, warning } } }
}
