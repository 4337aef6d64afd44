// Computes the slot of a key and decodes the replies of a Redis Cluster about slots (Redis Cluster specification). It
// has no connection and does no I/O.

import type { Reply } from './links.ts'

export const SLOTS = 16_384

/** The table for CRC-16/XMODEM, which is computed four bits at a time. */
const CRC = Uint16Array.from({ length: 16 }, (_, at) => {
  let crc = at << 12
  for (let bit = 0; bit < 4; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/**
 * Returns the slot of a key. It hashes the text between the first `{` and the next `}`; if that text is absent or
 * empty, it hashes the whole key.
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  const isTagged = close > open + 1
  const from = isTagged ? open + 1 : 0
  const to = isTagged ? close : key.length
  let crc = 0
  for (let at = from; at < to; at++) {
    const code = key.charCodeAt(at)
    // The character takes several bytes. This is rare, because no key of the broker has one, so usually no Buffer is
    // allocated.
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

/**
 * Returns the primaries in a reply to CLUSTER SLOTS. A node that does not know its own host gets the host that sent
 * the reply.
 */
export function parseSlots(reply: Reply, askedHost: string): readonly SlotRange[] {
  return (reply as readonly (readonly [number, number, readonly [Buffer | null, number]])[]).map(
    ([first, last, [host, port]]) => {
      const name = String(host ?? '')
      return { first, last, host: name === '' || name === '?' ? askedHost : name, port }
    },
  )
}

/** Returns why this cluster refuses keys, according to a reply to CLUSTER INFO; null if it does not refuse them. */
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

/** Returns the slot and the address in a redirection: `MOVED 3999 127.0.0.1:6381` or `ASK ...`. */
export function parseRedirection(message: string, askedHost: string): { slot: number; host: string; port: number } {
  const [, slot = '', address = ''] = message.split(' ')
  const colon = address.lastIndexOf(':')
  return { slot: Number(slot), host: address.slice(0, colon) || askedHost, port: Number(address.slice(colon + 1)) }
}
