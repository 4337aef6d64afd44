// The options that every operator's verb takes.

import type { Option } from './command.ts'

export const COMMON: Readonly<Record<string, Option>> = Object.freeze({
  url: { value: 'url', doc: 'The address of the admin API; by default KETCH_URL, else http://localhost:8080.' },
  user: {
    value: 'name',
    doc: 'The user that signs in; by default KETCH_USER, else admin. The password is KETCH_PASSWORD, or the command asks for it.',
  },
  'ca-file': {
    value: 'path',
    doc: "The PEM file of the authority that signed the broker's certificate, for an https address; by default KETCH_CA_FILE.",
  },
  json: { value: null, doc: 'Prints the answer as JSON, for programs.' },
  help: { value: null, doc: 'Prints this text.' },
})
