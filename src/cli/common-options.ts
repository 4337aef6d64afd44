// What every operator's verb takes.

import type { Option } from './command.ts'

export const COMMON: Readonly<Record<string, Option>> = Object.freeze({
  url: { value: 'url', doc: 'Where the admin API answers; else KETCH_URL, else http://localhost:8080.' },
  user: {
    value: 'name',
    doc: 'Who signs in; else KETCH_USER, else admin. The password is KETCH_PASSWORD, or asked for.',
  },
  json: { value: null, doc: 'The answer as JSON, for programs.' },
  help: { value: null, doc: 'This text.' },
})
