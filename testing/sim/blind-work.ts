// The work of a cleaner that does not compare offsets: it takes every record of a mapped key for an old one. It proves
// that the oracles of the simulation notice it.

import type { Terms } from '../../src/log/cleaner/clean-batch.ts'
import type { CleanedPiece, Unreadable } from '../../src/log/cleaner/cleaner-work.ts'
import { CleanerWork } from '../../src/log/cleaner/cleaner-work.ts'
import { OffsetMap } from '../../src/log/cleaner/offset-map.ts'

export class BlindWork extends CleanerWork {
  override clean(batches: readonly Uint8Array[], terms: Terms): CleanedPiece | Unreadable {
    const { isNewest } = OffsetMap.prototype
    OffsetMap.prototype.isNewest = function (_offset, bytes, keyFrom, keyEnd) {
      return this.get(bytes.subarray(keyFrom, keyEnd)) < 0
    }
    try {
      return super.clean(batches, terms)
    } finally {
      OffsetMap.prototype.isNewest = isNewest
    }
  }
}
