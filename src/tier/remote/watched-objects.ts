// A place whose requests tell a watch what became of them: the breaker hears of a place that is away, the log of one
// that is full, and the metrics of the writes of data files. It changes nothing.

import type { Clock } from '../../base/clock.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'

export interface ObjectsWatch {
  /** A request found the place away, or does not know what became of it. */
  away(): void
  /** The place has no room for an object. The few bytes of a probe may fit, so that the breaker does not hear of it. */
  full(why: string): void
  /** After the write of a data file. */
  wrote(tookMs: number, isDone: boolean): void
}

export function watchedObjects(objects: Objects, clock: Clock, watch: ObjectsWatch): Objects {
  const note = (error: unknown): never => {
    if (error instanceof ObjectStoreError && (error.kind === 'away' || error.kind === 'unknown')) watch.away()
    if (error instanceof ObjectStoreError && error.kind === 'full') watch.full(error.message)
    throw error
  }
  return {
    uri: objects.uri,
    read: (key, range) => objects.read(key, range).catch(note),
    stat: key => objects.stat(key).catch(note),
    async write(key, parts) {
      const beganAtMs = clock.monotonic()
      let isDone = false
      try {
        const written = await objects.write(key, parts)
        isDone = true
        return written
      } catch (error) {
        return note(error)
      } finally {
        if (key.endsWith('.parquet')) watch.wrote(clock.monotonic() - beganAtMs, isDone)
      }
    },
    create: (key, bytes) => objects.create(key, bytes).catch(note),
    replace: (key, bytes) => objects.replace(key, bytes).catch(note),
    async *list(prefix) {
      try {
        yield* objects.list(prefix)
      } catch (error) {
        note(error)
      }
    },
    delete: keys => objects.delete(keys).catch(note),
    close: () => objects.close(),
  }
}
