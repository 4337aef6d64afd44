// CRC-32C (Castagnoli, RFC 3720 appendix B.4), the checksum of record batches and of the journal.

import { crc32c as native } from '@node-rs/crc32'

/**
 * Returns the unsigned CRC-32C of the bytes. If the bytes come in pieces, `previous` is the checksum of the earlier
 * pieces.
 */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  return native(bytes as Buffer, previous)
}
