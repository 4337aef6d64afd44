// The time of the store. Ages of objects are judged by the clock that stamped them: the clock of a broker may be an
// hour off, and a young object that looks old would be deleted.

import { type Random, uuidText } from '../../base/random.ts'
import type { Objects } from '../objects/objects.ts'
import { metadataPrefix } from './table-files.ts'

/** Resolves with the store's time in ms, from the change of a new object. A crash leaves that object to the sweep. */
export async function storeNow(objects: Objects, location: string, random: Random): Promise<number> {
  const key = `${metadataPrefix(location)}clock-${uuidText(random)}`
  await objects.write(key, new Uint8Array(1))
  const facts = await objects.stat(key)
  await objects.delete([key])
  if (facts === null)
    throw new Error(`${objects.uri}/${key} was written and does not exist; its age would be the clock`)
  return facts.changedAtMs
}
