// The commands of ketch and curl for the schema registry, as their words: commands.ts makes the lines. Other tools have
// no such commands.

import type { Asked, KetchWords } from './storage-commands.ts'
import { given, options } from './storage-commands.ts'

export type SchemaTask =
  | { readonly do: 'list-subjects'; readonly q?: string; readonly deleted?: string }
  | { readonly do: 'show-schema'; readonly subject: string; readonly version: number }
  | { readonly do: 'compare-schemas'; readonly subject: string; readonly from: number; readonly to: number }
  | { readonly do: 'list-judged-topics'; readonly q?: string; readonly all?: boolean }

/** Returns the words of `ketch schemas`. */
export function ketchSchemas(task: SchemaTask): KetchWords {
  switch (task.do) {
    case 'list-subjects':
      return { verb: 'list', options: options({ filter: task.q, deleted: task.deleted }) }
    case 'show-schema':
      return { verb: 'show', names: [task.subject, String(task.version)] }
    case 'compare-schemas':
      return { verb: 'diff', names: [task.subject, String(task.from), String(task.to)] }
    case 'list-judged-topics':
      return { verb: 'topics', options: [...options({ filter: task.q }), ...(task.all === true ? ['--all'] : [])] }
  }
}

const SUBJECTS = '/api/v1/schemas/subjects'

export function curlSchemas(task: SchemaTask, inPath: (name: string) => string): Asked {
  switch (task.do) {
    case 'list-subjects':
      return { path: SUBJECTS, query: Object.fromEntries(given({ q: task.q, deleted: task.deleted })) }
    case 'show-schema':
      return { path: `${SUBJECTS}/${inPath(task.subject)}/versions/${task.version}` }
    case 'compare-schemas':
      return {
        path: `${SUBJECTS}/${inPath(task.subject)}/versions/${task.to}/diff`,
        query: { against: String(task.from) },
      }
    case 'list-judged-topics':
      return {
        path: '/api/v1/schemas/topics',
        query: Object.fromEntries(given({ q: task.q, all: task.all === true ? 'true' : undefined })),
      }
  }
}

export function isSchemaTask(task: { readonly do: string }): task is SchemaTask {
  return /-subjects$|-schemas?$|-judged-topics$/.test(task.do)
}
