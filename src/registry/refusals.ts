// The refusals of the registry, with the codes, statuses and texts of Confluent's, because clients look at them. A
// refusal is a value, never an error. Failures of the store are thrown, and the HTTP face answers 50001 for them.

export interface RegistryRefusal {
  readonly kind: 'refused'
  /** `error_code` of the answer. */
  readonly code: number
  /** The HTTP status. */
  readonly status: number
  readonly message: string
}

export function isRefusal(result: unknown): result is RegistryRefusal {
  return typeof result === 'object' && result !== null && (result as RegistryRefusal).kind === 'refused'
}

/** The first three digits of a code are its status, also those of `error_code` 409. */
function refused(code: number, message: string, status = Number(String(code).slice(0, 3))): RegistryRefusal {
  return Object.freeze({ kind: 'refused', code, status, message })
}

const LEVELS = 'none, backward, forward, full, backward_transitive, forward_transitive, and full_transitive'

export const refusals = Object.freeze({
  subjectNotFound: (subject: string) => refused(40401, `Subject '${subject}' not found.`),
  versionNotFound: (version: number | string) => refused(40402, `Version ${version} not found.`),
  schemaNotFound: () => refused(40403, 'Schema not found'),
  idNotFound: (id: number | string) => refused(40403, `Schema ${id} not found`),
  subjectSoftDeleted: (subject: string) =>
    refused(40404, `Subject '${subject}' was soft deleted.Set permanent=true to delete permanently`),
  subjectNotSoftDeleted: (subject: string) =>
    refused(40405, `Subject '${subject}' was not deleted first before being permanently deleted`),
  versionSoftDeleted: (subject: string, version: number) =>
    refused(40406, `Subject '${subject}' Version ${version} was soft deleted.Set permanent=true to delete permanently`),
  versionNotSoftDeleted: (subject: string, version: number) =>
    refused(40407, `Subject '${subject}' Version ${version} was not deleted first before being permanently deleted`),
  noSubjectLevel: (subject: string) =>
    refused(40408, `Subject '${subject}' does not have subject-level compatibility configured`),
  noSubjectMode: (subject: string) =>
    refused(40409, `Subject '${subject}' does not have subject-level mode configured`),
  incompatible: (subject: string, details: readonly string[]) =>
    refused(
      409,
      `Schema being registered is incompatible with an earlier schema for subject "${subject}", details: [${details.join(', ')}]`,
    ),
  /** Only for callers that say which state they have seen. */
  outdated: () => refused(40901, 'It has changed since it was shown.'),
  invalidSchema: (message: string) => refused(42201, message),
  wrongVersion: () => refused(42201, 'Version is not one more than previous version'),
  invalidVersion: (version: string) =>
    refused(
      42202,
      `The specified version '${version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the string "latest"`,
    ),
  invalidLevel: () => refused(42203, `Invalid compatibility level. Valid values are ${LEVELS}`),
  invalidConfig: (message: string) => refused(42203, message),
  invalidMode: () => refused(42204, 'Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.'),
  unsupportedMode: (mode: string) =>
    refused(42204, `Mode ${mode} is not supported. Valid values are READWRITE, READONLY and IMPORT.`),
  notPermitted: (message: string) => refused(42205, message),
  /** Null is the whole registry. */
  readOnly: (subject: string | null) =>
    refused(42205, subject === null ? 'The registry is in read-only mode' : `Subject ${subject} is in read-only mode`),
  referenced: (subject: string, version: number) =>
    refused(
      42206,
      `One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=${subject},version=${version}}.`,
    ),
  invalidSubject: (subject: string) => refused(42208, `The specified subject '${subject}' is not a valid.`),
  tooLarge: (message: string) => refused(42209, message),
  /** Confluent's code for work that was not done in time. Its clients try again after a 503. */
  busy: (message: string) => refused(50002, message, 503),
})
