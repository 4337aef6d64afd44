// The faults that a reader of the archive is told about. Any other error is a mistake of this program and is thrown.

import { ThreadEnded } from '../../base/threads.ts'
import type { ArchiveTrouble } from '../../log/archive.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import { BadAvro } from '../iceberg/avro.ts'
import { MissingFile } from '../iceberg/manifest-lists.ts'
import { BadMetadata } from '../iceberg/metadata.ts'
import { TableGone } from '../iceberg/table.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { FileTrouble } from './open-files.ts'
import { Closed } from './read-queue.ts'
import { DamagedTable } from './spots.ts'

/** The caller's patience ended before the answer was found. It is no fault of the archive. */
export class TooLate extends Error {
  override readonly name = 'TooLate'

  constructor() {
    super('the search in the archive took longer than its caller waits')
  }
}

const AWAY = [ThreadEnded, Closed]
const DAMAGED = [FileTrouble, DamagedTable, DamagedFile, MissingFile, BadAvro, BadMetadata, TableGone]

/** Returns the answer for an error of the store, a table or a file; throws other errors again. */
export function troubleOf(error: unknown): ArchiveTrouble {
  const { message: why } = error as Error
  // The store would refuse a further attempt too: a name that is no key, a link in the folder, no permission.
  if (error instanceof ObjectStoreError) return { kind: error.kind === 'refused' ? 'damaged' : 'away', why }
  if (AWAY.some(kind => error instanceof kind)) return { kind: 'away', why }
  if (DAMAGED.some(kind => error instanceof kind)) return { kind: 'damaged', why }
  throw error
}
