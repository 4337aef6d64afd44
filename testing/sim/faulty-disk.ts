// A disk over real files that fails on demand. It stops at a chosen call, as a killed process or a power loss would,
// or refuses calls with an error. It keeps the old content of all unsynced writes, so that a power loss can undo any
// part of them, sector by sector, in any order. It can also undo unsynced folder entries.

import fs from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { type Disk, type DiskFile, realDisk } from '../../src/store/embedded/disk.ts'

export type DiskCall = 'open' | 'write' | 'sync' | 'rename' | 'unlink' | 'syncFolder'

export interface FaultyDisk extends Disk {
  /** The number of calls that changed the disk or synced it. */
  readonly calls: number
  /** The number of writes that a power loss may undo. */
  readonly unsyncedWrites: number
  /**
   * The power or the process fails at the given call (counted from 0): before it, after it, or with a part of a write
   * done. This call and all later ones fail.
   */
  stopAt(call: number, when: 'before' | 'partly' | 'after'): void
  readonly stopped: boolean
  /** The next calls of this kind fail with the error code. */
  failNext(call: DiskCall, code: string, times?: number): void
  /** All calls of this kind fail without effect, with the error code, until the test calls the returned function. */
  failUntil(call: DiskCall, code: string): () => void
  /** The next call of this kind does its work, but resolves only when the test calls the returned function. */
  holdNext(call: DiskCall): () => void
  /** The next call of this kind does all its work and then fails. */
  failAfterwards(call: DiskCall, code: string): void
  /** Puts the disk into a state that a power loss may leave. */
  losePower(): void
}

const SECTOR = 512

interface Unsynced {
  readonly path: string
  readonly position: number
  readonly before: Buffer
}

export function createFaultyDisk(random: Random): FaultyDisk {
  const disk = realDisk(systemClock)
  let calls = 0
  let stop: { call: number; when: 'before' | 'partly' | 'after' } | null = null
  let stopped = false
  const failures = new Map<DiskCall, string[]>()
  const lasting = new Map<DiskCall, string>()
  const late = new Map<DiskCall, string>()
  const held = new Map<DiskCall, Promise<void>>()
  let unsynced: Unsynced[] = []
  let names: { readonly folder: string; readonly undo: () => void }[] = []

  /** Does the work, unless a fault applies. `part` does a part of a write. */
  async function perform<T>(call: DiskCall, work: () => Promise<T>, part?: () => Promise<unknown>): Promise<T> {
    if (stopped) throw new Error('the disk is gone')
    const once = failures.get(call)?.shift()
    const code = once ?? lasting.get(call)
    if (code !== undefined) {
      if (once !== undefined) await part?.()
      throw Object.assign(new Error(`${code}: asked for by the test, ${call}`), { code })
    }
    const lateCode = late.get(call)
    if (lateCode !== undefined) {
      late.delete(call)
      await work()
      throw Object.assign(new Error(`${lateCode}: asked for by the test, after ${call}`), { code: lateCode })
    }
    const hold = held.get(call)
    if (hold !== undefined) {
      held.delete(call)
      const done = await work()
      await hold
      return done
    }
    const here = calls++ === stop?.call ? stop.when : null
    if (here === null) return work()
    stopped = true
    if (here === 'partly') await part?.()
    if (here === 'after') await work()
    throw new Error(`the disk stops here, ${here} ${call}`)
  }

  function fileOf(path: string, file: DiskFile): DiskFile {
    const writeNow = async (buffers: readonly Uint8Array[], position: number) => {
      const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
      const before = Buffer.alloc(length)
      await file.read(before, position)
      unsynced.push({ path, position, before })
      await file.write(buffers, position)
    }
    return {
      size: file.size,
      read: (buffer, position) => file.read(buffer, position),
      readHere: (buffer, position) => file.readHere(buffer, position),
      write: (buffers, position) =>
        perform(
          'write',
          () => writeNow(buffers, position),
          async () => {
            const all = Buffer.concat(buffers)
            const part = all.subarray(0, random.below(all.length + 1))
            if (part.length > 0) await writeNow([part], position)
          },
        ),
      sync: () =>
        perform('sync', async () => {
          const done = new Set(unsynced.filter(each => each.path === path))
          await file.sync()
          unsynced = unsynced.filter(each => !done.has(each))
        }),
      close: () => file.close(),
    }
  }

  return {
    get calls() {
      return calls
    },
    get unsyncedWrites() {
      return unsynced.length
    },
    get stopped() {
      return stopped
    },
    stopAt(call, when) {
      stop = { call, when }
    },
    failNext(call, code, times = 1) {
      failures.set(call, [...(failures.get(call) ?? []), ...Array.from({ length: times }, () => code)])
    },
    failUntil(call, code) {
      lasting.set(call, code)
      return () => void lasting.delete(call)
    },
    holdNext(call) {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(call, promise)
      return resolve
    },
    failAfterwards(call, code) {
      late.set(call, code)
    },
    losePower() {
      for (const { path, position, before } of unsynced.reverse()) {
        if (!fs.existsSync(path)) continue
        const fd = fs.openSync(path, 'r+')
        for (let at = 0; at < before.length; ) {
          const end = Math.min(before.length, at + SECTOR - ((position + at) % SECTOR))
          if (random.below(2) === 0) fs.writeSync(fd, before, at, end - at, position + at)
          at = end
        }
        fs.closeSync(fd)
      }
      unsynced = []
      for (const { undo } of names.reverse()) if (random.below(2) === 0) undo()
      names = []
    },
    async open(path, create) {
      if (!create) return fileOf(path, await disk.open(path, false))
      return perform('open', async () => {
        const file = await disk.open(path, true)
        names.push({ folder: dirname(path), undo: () => fs.rmSync(path, { force: true }) })
        return fileOf(path, file)
      })
    },
    rename: (from, to) =>
      perform('rename', async () => {
        await disk.rename(from, to)
        unsynced = unsynced.map(each => (each.path === from ? { ...each, path: to } : each))
        names.push({ folder: dirname(to), undo: () => fs.existsSync(to) && fs.renameSync(to, from) })
      }),
    unlink: path => perform('unlink', () => disk.unlink(path)),
    syncFolder: path =>
      perform('syncFolder', async () => {
        await disk.syncFolder(path)
        names = names.filter(each => each.folder !== path)
      }),
  }
}
