// A Redis that loses its newest data: it is killed and starts again with an earlier copy of its append-only file.

import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { eventually } from './eventually.ts'
import { type RedisServer, startRedis } from './redis.ts'

export interface ForgetfulRedis {
  readonly redis: RedisServer
  /** Copies the append-only file, after the rewrite that a store has requested. */
  remember(): Promise<void>
  /** Kills the server and starts it with the copy that `remember` made. */
  forget(): Promise<void>
}

export async function startForgetfulRedis(cleanUp: CleanUp): Promise<ForgetfulRedis> {
  const redis = await startRedis(cleanUp, { appendfsync: 'always' })
  const [file, copy] = [join(redis.folder, 'appendonlydir'), join(redis.folder, 'copy')]
  return {
    redis,
    async remember() {
      // A rewrite adds a file and removes the old ones later.
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
