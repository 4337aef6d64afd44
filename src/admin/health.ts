// How this broker is: what each part says of itself, gathered for probes and people. It decides what counts as well; routes
// choose what of it a caller sees. Nothing here changes or repairs anything.
//
//   component      asks                                              DOWN when
//   redis | store  every server of the store for a sign of life      one is silent for 2 s, or refuses, slots of its cluster too
//   broker         the gauge svc.broker.up                           0: before the listeners are there, and while draining
//   diskSpace      the file system of the data folder                less than 10 MiB are free
//   ssl            the certificate of the listeners                  it cannot be read, is not valid yet or any more
//   ping           nobody: whoever answers is there                  never
//
// Of the answers that cost something the last are kept for 5 s, and callers who come meanwhile share the question: a thousand
// probes a second ask the store as often as one in five seconds.

import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import { type Clock, within } from '../base/clock.ts'
import { isLoopback } from '../settings/endpoints.ts'
import { chooseEngine } from '../settings/engine.ts'
import type { Settings } from '../settings/settings.ts'
import type { Pong, Store } from '../store/store.ts'

export type Status = 'UP' | 'DOWN' | 'OUT_OF_SERVICE'

/** What a component knows beyond its status. It names addresses and versions: for whoever signed in. */
export type Details = Readonly<Record<string, unknown>>

export interface Component {
  readonly status: Status
  readonly details: Details
}

export interface HealthTree {
  /** The worst of the components. */
  readonly status: Status
  readonly components: Readonly<Record<string, Component>>
}

/** One connection to the store, under its name in the API. */
export interface Check {
  readonly name: 'redis-connectivity' | 'storage-redis-connectivity' | 'store-connectivity'
  readonly status: Status
  readonly tookMs: number
  readonly details: Details
}

export interface Health {
  tree(): Promise<HealthTree>
  /** Whether the process is alive. The store has no say: a restart would not bring it back. */
  liveness(): HealthTree
  /** Whether clients should be sent here: the store answers, and the broker serves and does not drain. */
  readiness(): Promise<HealthTree>
  checks(): Promise<readonly Check[]>
}

export interface HealthRooms {
  readonly store: Pick<Store, 'ping'>
  readonly settings: Settings
  readonly clock: Clock
  /** Whether the gauge svc.broker.up is 1. */
  readonly isUp: () => boolean
}

const KEEP_MS = 5_000
const TIMEOUT_MS = 2_000
const LEAST_FREE_BYTES = 10 * 1024 * 1024

export function createHealth(rooms: HealthRooms): Health {
  const { store, settings, clock, isUp } = rooms
  const pings = keeping(clock, () => store.ping(TIMEOUT_MS))
  const disk = keeping(clock, () => diskSpace(settings, clock))
  const certificates = keeping(clock, () => ssl(settings, clock))
  const broker = (): Component => ({ status: isUp() ? 'UP' : 'DOWN', details: {} })
  const storeComponent = async () => {
    const pongs = await pings()
    return { [pongs.every(({ part }) => part === 'store') ? 'store' : 'redis']: componentOf(pongs) }
  }

  return {
    async tree() {
      const [ofStore, ofDisk, ofCertificates] = await Promise.all([storeComponent(), disk(), certificates()])
      return treeOf({
        ...ofStore,
        broker: broker(),
        diskSpace: ofDisk,
        ping: { status: 'UP', details: {} },
        ssl: ofCertificates,
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

/** What the work came to, for KEEP_MS from when it was asked for; one question at a time. */
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

/** Of the folder that this broker writes to, or the one that it runs in. */
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

/** Without TLS there is nothing that could expire. */
async function ssl(settings: Settings, clock: Clock): Promise<Component> {
  const path = settings.get('broker.cert-file')
  if (!settings.get('broker.tls') || path === null) return { status: 'UP', details: { certificates: [] } }
  try {
    const { subject, validFromDate, validToDate } = new X509Certificate(await readFile(path))
    const nowMs = clock.now()
    const isValid = nowMs >= validFromDate.getTime() && nowMs < validToDate.getTime()
    const certificate = { subject, validFrom: validFromDate.toISOString(), validTo: validToDate.toISOString() }
    return { status: isValid ? 'UP' : 'DOWN', details: { certificates: [certificate] } }
  } catch (error) {
    return { status: 'DOWN', details: { failure: `${path} cannot be read: ${(error as Error).message}` } }
  }
}

/** Says that nobody is asked who they are. It takes no broker out of rotation: it was asked for. */
function openDoor(settings: Settings): Readonly<Record<string, Component>> {
  if (settings.get('admin.security-enabled')) return {}
  const address = settings.get('server.address') ?? '0.0.0.0'
  const warning = isLoopback(address)
    ? 'Anybody on this machine may do everything (svc.admin.security-enabled=false).'
    : `INSECURE: anybody who reaches ${address} may do everything (svc.admin.security-enabled=false).`
  return { adminSecurity: { status: 'UP', details: { isEnabled: false, address, warning } } }
}
