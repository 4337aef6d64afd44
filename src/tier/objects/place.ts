// Opens the place that the setting storage.remote.path names. Only here are the two kinds of places told apart.

import { parsePlace, type RemotePlace } from '../../settings/remote-place.ts'
import { type FolderDeps, openFolder } from './folder.ts'
import type { Objects } from './objects.ts'
import { openS3 } from './s3.ts'
import type { S3Options } from './s3-client.ts'

export { parsePlace }

/**
 * Opens a place. Asks no store: a store that is away rejects the first call, and not this one. Loads the client of S3
 * only for a bucket.
 */
export async function openObjects(place: RemotePlace, options: S3Options, deps: FolderDeps): Promise<Objects> {
  return place.kind === 'folder' ? openFolder(place.path, deps) : openS3(place, options)
}
