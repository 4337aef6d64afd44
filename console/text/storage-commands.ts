// The commands of ketch and curl for the remote tier, as their words: commands.ts makes the lines. Other tools have no
// such commands.

import { option } from './shell.ts'

export type StorageTask =
  | { readonly do: 'show-remote-storage' }
  | { readonly do: 'list-offload-jobs'; readonly topic?: string; readonly status?: string }
  | { readonly do: 'retry-offload-job'; readonly job: string }
  | { readonly do: 'cancel-offload-job'; readonly job: string }
  /** Of all topics by default. */
  | { readonly do: 'retry-failed-jobs'; readonly topic?: string }
  | { readonly do: 'show-segment'; readonly topic: string; readonly partition: number; readonly base: number }

/** The words behind `ketch storage`. */
export interface KetchWords {
  readonly verb: string
  readonly names?: readonly string[]
  readonly options?: readonly string[]
}

/** Returns the names that have a value. */
export const given = (names: Readonly<Record<string, string | undefined>>) =>
  Object.entries(names).filter((each): each is [string, string] => each[1] !== undefined && each[1] !== '')

export const options = (names: Readonly<Record<string, string | undefined>>) =>
  given(names).map(([name, value]) => option(`--${name}`, value))

export function ketchStorage(task: StorageTask): KetchWords {
  switch (task.do) {
    case 'show-remote-storage':
      return { verb: 'remote' }
    case 'list-offload-jobs':
      return { verb: 'jobs', options: options({ status: task.status, topic: task.topic }) }
    case 'retry-offload-job':
      return { verb: 'retry', names: [task.job] }
    case 'cancel-offload-job':
      return { verb: 'cancel', names: [task.job] }
    case 'retry-failed-jobs':
      return { verb: 'retry', options: ['--all-failed', ...options({ topic: task.topic })] }
    case 'show-segment':
      return {
        verb: 'segments',
        names: [task.topic, String(task.partition)],
        options: [option('--base', task.base)],
      }
  }
}

/** A request of the admin API. The names are encoded in the path by `inPath`. */
export interface Asked {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const JOBS = '/api/v1/storage/offload-jobs'

export function curlStorage(task: StorageTask, inPath: (name: string) => string): Asked {
  switch (task.do) {
    case 'show-remote-storage':
      return { path: '/api/v1/storage/remote' }
    case 'list-offload-jobs':
      return { path: JOBS, query: Object.fromEntries(given({ status: task.status, topic: task.topic })) }
    case 'retry-offload-job':
      return { path: `${JOBS}/${inPath(task.job)}/retry`, body: {} }
    case 'cancel-offload-job':
      return { path: `${JOBS}/${inPath(task.job)}/cancel`, body: {} }
    case 'retry-failed-jobs':
      return { path: `${JOBS}/retry-failed`, body: Object.fromEntries(given({ topic: task.topic })) }
    case 'show-segment':
      return { path: `/api/v1/topics/${inPath(task.topic)}/partitions/${task.partition}/segments/${task.base}` }
  }
}

export function isStorageTask(task: { readonly do: string }): task is StorageTask {
  return /-remote-storage$|-offload-jobs?$|-failed-jobs$|-segment$/.test(task.do)
}
