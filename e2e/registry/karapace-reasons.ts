// The reasons why tests of Karapace's registry do not pass. The first row that matches a test's name or its failure
// applies. "Confluent" stands for Confluent's registry, whose rules Ketch follows where the two differ.

import type { Outcome } from '../suites/outcomes.ts'

export const CAUSES = {
  message: 'Only the message of an error differs',
  confluent: "Karapace differs from Confluent's registry",
  server: "It needs Karapace's server or its topic",
} as const

export interface KarapaceReason {
  readonly cause: keyof typeof CAUSES
  readonly why: string
}

interface Row extends KarapaceReason {
  readonly test?: RegExp
  readonly detail?: RegExp
}

const rows: readonly Row[] = [
  {
    detail: /^\('.*Skipped: /,
    cause: 'server',
    why: "It writes records into Karapace's topic `_schemas`, or starts Karapace's server with other settings.",
  },
  {
    test: /test_references\[.*(ref schema does not exist|nonexisting schema|missing closing brace)/,
    detail: /^Only the message/,
    cause: 'message',
    why: 'Karapace quotes the whole schema and its references; Ketch names the missing reference, or the place of the mistake.',
  },
  {
    test: /test_references\[.*references not given/,
    detail: /^Only the message/,
    cause: 'message',
    why: 'Karapace names the type that is not defined; Ketch names the import that no reference has.',
  },
  {
    test: /missing_body|body_validation|subject_post_invalid|rejected_values/,
    detail: /^Only the message/,
    cause: 'message',
    why: 'In Karapace the message is a list of objects of its framework, or does not name the mistake; in Ketch it is a text that names the member.',
  },
  {
    test: /test_schema_hard_delete_version$/,
    detail: /^Only the message/,
    cause: 'message',
    why: 'Karapace has a space in `was soft deleted. Set permanent=true`; Confluent has none there, and tests of Confluent compare the text.',
  },
  { detail: /^Only the message/, cause: 'message', why: 'The sentence that names the mistake has other words.' },
  {
    test: /test_references\[.*With reference to nested message/,
    cause: 'confluent',
    why: 'Its schema imports `NoReferenceNested.proto`, and the only reference has the name `NoReference.proto`. Karapace takes any reference; protoc and Confluent need the import.',
  },
  {
    test: /test_protobuf_schema_(references|verifier)\[/,
    cause: 'confluent',
    why: 'A schema that only deleted versions refer to can be deleted softly, as in Confluent, and not for good. In Karapace it can be deleted in neither way.',
  },
  {
    test: /test_schema_versions_multiple_subjects_same_schema/,
    cause: 'confluent',
    why: 'It expects subjects in the order of their registration, and their names end with random digits. Ketch sorts them, as Confluent does, so the test passes by chance.',
  },
  {
    test: /test_compatibility_endpoint|test_schema_compatibility\[test_case[2-5]\]|test_avro_references_compatibility/,
    cause: 'confluent',
    why: 'It expects reasons without `verbose=true`, in the words of the Avro library for Python. The verdicts agree.',
  },
  {
    test: /test_schema_compatibility\[test_case[67]\]/,
    cause: 'confluent',
    why: 'A check against `latest` of a subject without versions is answered 200 and `true` by Confluent, 404 by Karapace.',
  },
  {
    test: /should_not_give_internal_server_error/,
    cause: 'confluent',
    why: 'An unknown type of schema is 42201 in Confluent, 422 in Karapace. The status is 422 in both.',
  },
  {
    test: /test_record_schema_subject_compatibility|test_basic_avro_references|test_schema_same_subject_unnamed/,
    cause: 'confluent',
    why: "Karapace keeps a schema as JSON with sorted members, Ketch in Avro's own form, as Confluent does: `type` and `name` first, and no `name` on a primitive type.",
  },
  {
    test: /test_schema_json_subject_comparison/,
    cause: 'confluent',
    why: 'It looks a JSON schema up with its members in another order. Confluent finds it only with `normalize=true`.',
  },
  {
    test: /test_full_transitive_failure/,
    cause: 'confluent',
    why: 'Its schema has the default `"null"`, a text, for a union of null and a record. Confluent refuses it from 8.0.3 on, and so does Ketch.',
  },
  {
    test: /test_config$/,
    cause: 'confluent',
    why: 'It expects the global level as the answer when the level of a subject is deleted. Confluent answers the deleted one, by the name `compatibilityLevel`.',
  },
  {
    test: /test_http_headers/,
    cause: 'confluent',
    why: 'It sends a body in UTF-16. Ketch answers 415, because JSON between systems is UTF-8 (RFC 8259). The rest of the test passes.',
  },
  {
    test: /test_subject_mode/,
    cause: 'confluent',
    why: 'A subject without a mode of its own is 40409 in Confluent; Karapace has no modes and answers READWRITE.',
  },
  {
    test: /test_schemaregistry_(schemaregistry_extra_field|true_and_false_schemas|boolean_schemas)/,
    cause: 'confluent',
    why: 'In Confluent every schema may follow `false`, and `false` may not follow `true`. Karapace has it the other way round.',
  },
  {
    test: /test_schemaregistry_true_schema_is_compatible_with_object/,
    cause: 'confluent',
    why: 'In Confluent `true` may follow every schema; in Karapace only schemas of objects.',
  },
  {
    test: /test_schemaregistry_(object_properties|property_names)/,
    cause: 'confluent',
    why: 'In Confluent an open object may get a property whose schema is empty, because every value was allowed before. Karapace refuses it.',
  },
]

export function reasonFor({ name, detail }: Outcome): KarapaceReason | null {
  return rows.find(row => (row.test?.test(name) ?? true) && (row.detail?.test(detail) ?? true)) ?? null
}
