// Computes how long a client must wait if it exceeds a quota: for produce and fetch bytes, for the time that its
// requests keep the event loop busy, and for new connections of an address. It returns milliseconds. The caller tells
// the client, and stops reading from it (KIP-219). Operators set the quotas (coordinator/client-quotas.ts). Rates are
// measured as in Kafka (rate-window.ts).
//
// The most specific quota counts (KIP-55), in this order: user + client id, user + any client id, user, any user +
// client id, any user + any client id, any user, client id, any client id. All clients that share a user's quota are
// measured together, and so are all that share a client id's quota.

import type { Clock } from '../base/clock.ts'
import type { ClientQuotas, QuotaEntity, QuotaKey } from '../coordinator/client-quotas.ts'
import { canonicalAddress } from './address.ts'
import { burstOf, RateWindow, WINDOW_MS } from './rate-window.ts'

/** The client that a request comes from. */
export interface Caller {
  readonly clientId: string | null
  readonly connection: { readonly principal: string }
}

export interface Throttle {
  /** True if some client has a quota of the event loop's time, so that this time must be measured. */
  readonly isTimed: boolean
  /** Counts the bytes of a produce request. Returns how long the client must wait. */
  produced(caller: Caller, bytes: number): number
  /** Returns the most bytes that one fetch may return. */
  fetchableBytes(caller: Caller): number
  /**
   * Counts the bytes that a fetch is about to return. If `deliver` is false they are not counted, and the answer must
   * be empty.
   */
  fetching(caller: Caller, bytes: number): { readonly throttleMs: number; readonly deliver: boolean }
  /** Counts the time that a request kept the event loop busy. Returns how long the client must wait. */
  worked(caller: Caller, busyMs: number): number
  /** Counts a new connection from this address. Returns how long it must wait. */
  connected(address: string): number
}

/** The most windows that are kept. If there are more, the one that was idle for longest starts again at zero. */
const MOST_WINDOWS = 10_000

/** The longest wait for a request quota. */
const LONGEST_REQUEST_WAIT_MS = 1000

/** The longest wait of a connection that exceeds its quota. As in Kafka, it is closed afterwards. */
const LONGEST_CONNECTION_WAIT_MS = 1000

const PRINCIPAL_PREFIX = 'User:'

type Limits = ReadonlyMap<string, number>

export function createThrottle(quotas: ClientQuotas, clock: Clock): Throttle {
  let seen = quotas.current()
  let limits = limitsOf(seen)
  /** By quota and client. The client that was measured last comes last. */
  const windows = new Map<string, RateWindow>()

  function limitsFor(key: QuotaKey): Limits | undefined {
    const current = quotas.current()
    if (current !== seen) {
      seen = current
      limits = limitsOf(current)
    }
    return limits.get(key)
  }

  function windowOf(name: string, nowMs: number): RateWindow {
    const known = windows.get(name)
    const window = known ?? new RateWindow(nowMs)
    if (known !== undefined) windows.delete(name)
    windows.set(name, window)
    for (const [oldest, { lastRecordedMs }] of windows) {
      const isNeeded = windows.size <= MOST_WINDOWS && nowMs - lastRecordedMs < WINDOW_MS
      if (isNeeded || oldest === name) break
      windows.delete(oldest)
    }
    return window
  }

  /** Returns the quota of the caller and the window that it limits; null if no quota applies. */
  function find(key: QuotaKey, { clientId, connection }: Caller) {
    const byEntity = limitsFor(key)
    if (byEntity === undefined) return null
    const match = matchCaller(byEntity, userOf(connection.principal), clientId ?? '')
    if (match === null) return null
    const nowMs = clock.monotonic()
    return { limit: match.limit, nowMs, window: windowOf(`${key}\n${match.shared}`, nowMs) }
  }

  function record(key: QuotaKey, caller: Caller, value: number): number {
    const found = find(key, caller)
    if (found === null) return 0
    const { window, limit, nowMs } = found
    window.record(value, nowMs)
    return window.excessMs(limit, nowMs)
  }

  return {
    get isTimed() {
      return limitsFor('request_percentage') !== undefined
    },
    produced: (caller, bytes) => record('producer_byte_rate', caller, bytes),
    fetchableBytes(caller) {
      const found = find('consumer_byte_rate', caller)
      return found === null ? Number.POSITIVE_INFINITY : burstOf(found.limit)
    },
    fetching(caller, bytes) {
      const found = find('consumer_byte_rate', caller)
      if (found === null) return { throttleMs: 0, deliver: true }
      const { window, limit, nowMs } = found
      const before = window.sum(nowMs)
      window.record(bytes, nowMs)
      const throttleMs = window.excessMs(limit, nowMs)
      // A single batch that is larger than the window allows could otherwise never be delivered.
      const deliver = throttleMs === 0 || before <= 0
      if (!deliver) window.record(-bytes, nowMs)
      return { throttleMs, deliver }
    },
    worked(caller, busyMs) {
      // The unit is percent of a second: 10 ms are 1 %.
      return Math.min(record('request_percentage', caller, busyMs / 10), LONGEST_REQUEST_WAIT_MS)
    },
    connected(address) {
      const byAddress = limitsFor('connection_creation_rate')
      if (byAddress === undefined) return 0
      const name = canonicalAddress(address)
      const limit = byAddress.get(name) ?? byAddress.get(ANY)
      if (limit === undefined) return 0
      const nowMs = clock.monotonic()
      const window = windowOf(`connection_creation_rate\n${name}`, nowMs)
      window.record(1, nowMs)
      const excessMs = Math.min(window.excessMs(limit, nowMs), LONGEST_CONNECTION_WAIT_MS)
      if (excessMs > 0) window.record(-1, nowMs)
      return excessMs
    },
  }
}

function userOf(principal: string): string {
  return principal.startsWith(PRINCIPAL_PREFIX) ? principal.slice(PRINCIPAL_PREFIX.length) : principal
}

/**
 * Stands for all users, client ids or addresses without a quota of their own. A single user or client id is `=name`.
 * The empty text stands for a type that the quota does not name.
 */
const ANY = '*'

function oneOf(name: string): string {
  return `=${name}`
}

/** Returns a text that no other pair of user and client id has, whatever characters are in them. */
function pair(user: string, clientId: string): string {
  return `${user.length}:${user}${clientId}`
}

/**
 * Returns the quota that counts for this user and client id, and the name of the window of all who share it. Returns
 * null if no quota counts.
 */
function matchCaller(limits: Limits, user: string, clientId: string) {
  const own = oneOf(user)
  const ownId = clientId === '' ? '' : oneOf(clientId)
  const ids = clientId === '' ? [] : [ownId, ANY]
  for (const one of [own, ANY]) {
    for (const id of ids) {
      const limit = limits.get(pair(one, id))
      if (limit !== undefined) return { limit, shared: pair(own, ownId) }
    }
    const limit = limits.get(pair(one, ''))
    if (limit !== undefined) return { limit, shared: pair(own, '') }
  }
  for (const id of ids) {
    const limit = limits.get(pair('', id))
    if (limit !== undefined) return { limit, shared: pair('', ownId) }
  }
  return null
}

/** Returns, for each quota key that an entity has, the limits by address, or by user and client id. */
function limitsOf(quotas: ReturnType<ClientQuotas['current']>): ReadonlyMap<QuotaKey, Limits> {
  const limits = new Map<QuotaKey, Map<string, number>>()
  for (const { entity, values } of quotas.values()) {
    const name = nameOf(entity)
    for (const [key, value] of Object.entries(values) as [QuotaKey, number][]) {
      const byEntity = limits.get(key)
      if (byEntity === undefined) limits.set(key, new Map([[name, value]]))
      else byEntity.set(name, value)
    }
  }
  return limits
}

function nameOf({ user, 'client-id': clientId, ip }: QuotaEntity): string {
  if (ip !== undefined) return ip === null ? ANY : canonicalAddress(ip)
  return pair(partOf(user), partOf(clientId))
}

function partOf(name: string | null | undefined): string {
  return name === undefined ? '' : name === null ? ANY : oneOf(name)
}
