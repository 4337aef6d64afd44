// Which primary of a Redis Cluster holds which slot: the key's slot, and the replies that say where a slot is
// (Redis Cluster specification). No connection and no I/O.

import type { Reply } from './links.ts'

export const SLOTS = 16_384

/** CRC-16/XMODEM, a nibble at a time. */
const CRC = Uint16Array.from({ length: 16 }, (_, at) => {
  let crc = at << 12
  for (let bit = 0; bit < 4; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The slot of a key: of what stands between the first `{` and the next `}`, if that is anything, else of all of it. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  const isTagged = close > open + 1
  const from = isTagged ? open + 1 : 0
  const to = isTagged ? close : key.length
  let crc = 0
  for (let at = from; at < to; at++) {
    const code = key.charCodeAt(at)
    // A letter of several bytes. Every append asks, and no key of this house has one: mostly no Buffer is made.
    if (code > 0x7f) return Buffer.from(key.slice(from, to)).reduce(withByte, 0) % SLOTS
    crc = withByte(crc, code)
  }
  return crc % SLOTS
}

function withByte(before: number, byte: number): number {
  const crc = ((before << 4) ^ CRC[((before >> 12) ^ (byte >> 4)) & 15]!) & 0xffff
  return ((crc << 4) ^ CRC[((crc >> 12) ^ byte) & 15]!) & 0xffff
}

export interface SlotRange {
  readonly first: number
  readonly last: number
  readonly host: string
  readonly port: number
}

/** The primaries in a reply to CLUSTER SLOTS. A node that does not know its own host is where the question went. */
export function parseSlots(reply: Reply, askedHost: string): readonly SlotRange[] {
  return (reply as readonly (readonly [number, number, readonly [Buffer | null, number]])[]).map(
    ([first, last, [host, port]]) => {
      const name = String(host ?? '')
      return { first, last, host: name === '' || name === '?' ? askedHost : name, port }
    },
  )
}

/** Why this cluster refuses keys, as a reply to CLUSTER INFO says; null when it does not. */
export function objectionToCluster(reply: Reply): string | null {
  const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(String(reply))?.[1]
  const state = field('cluster_state')
  if (state !== 'ok') return `says that the cluster's state is ${state}`
  // With cluster-require-full-coverage no, the state is ok in spite of slots that no primary serves.
  const served = Number(field('cluster_slots_assigned')) - Number(field('cluster_slots_fail'))
  return served === SLOTS
    ? null
    : `says that ${SLOTS - served} of the cluster's ${SLOTS} slots are served by no primary`
}

/** Where `MOVED 3999 127.0.0.1:6381` or `ASK ...` says the slot is. */
export function parseRedirection(message: string, askedHost: string): { slot: number; host: string; port: number } {
  const [, slot = '', address = ''] = message.split(' ')
  const colon = address.lastIndexOf(':')
  return { slot: Number(slot), host: address.slice(0, colon) || askedHost, port: Number(address.slice(colon + 1)) }
}
