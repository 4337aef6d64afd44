// A Redis that loses the end of what it had: it is killed, and started again with the append-only file of an earlier
// moment.

import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { eventually } from './eventually.ts'
import { type RedisServer, startRedis } from './redis.ts'

export interface ForgetfulRedis {
  readonly redis: RedisServer
  /** Copies the append-only file, once a store has asked for its rewrite and that has ended. */
  remember(): Promise<void>
  /** Kills the server and starts it with what the file held when `remember` was called. */
  forget(): Promise<void>
}

export async function startForgetfulRedis(cleanUp: CleanUp): Promise<ForgetfulRedis> {
  const redis = await startRedis(cleanUp, { appendfsync: 'always' })
  const [file, copy] = [join(redis.folder, 'appendonlydir'), join(redis.folder, 'copy')]
  return {
    redis,
    async remember() {
      // A rewrite adds a part, and takes former ones away in its own time.
      const isAtRest = async () => (await redis.info('aof_last_rewrite_time_sec')) !== '-1'
      await eventually('it is rewritten', async () => (await isAtRest()) && (await readdir(file)).length === 3)
      await cp(file, copy, { recursive: true })
    },
    async forget() {
      await redis.stop('SIGKILL')
      await rm(file, { recursive: true })
      await cp(copy, file, { recursive: true })
      await redis.start()
    },
  }
}
