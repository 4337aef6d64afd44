// Writes docs/reference from the tables in src, and docs/compatibility.md from the results that the suites store.
// With `--check` it writes nothing and fails if a page differs from its source.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { differences } from '../e2e/authorization/differences.ts'
import { derivations } from '../src/auth/clients/policy.ts'
import { ADMIN_PATH } from '../src/http/faces/admin.ts'
import { modelOfAnswer } from '../src/http/openapi.ts'
import { allRoutes } from '../src/http/routes/all.ts'
import { type ArgumentSchema, argumentsOf } from '../src/mcp/input-schema.ts'
import { allPrompts } from '../src/mcp/prompts/all.ts'
import { allResources } from '../src/mcp/resources/all.ts'
import { ANSWER_BYTES, isChanging, type Tool } from '../src/mcp/tool.ts'
import { allTools } from '../src/mcp/tools/all.ts'
import { errors } from '../src/protocol/errors.ts'
import { betweenBrokers, messages } from '../src/protocol/messages/all.ts'
import type { Key, Setting } from '../src/settings/settings.ts'
import { fullKey, sections } from '../src/settings/settings.ts'
import { environmentName } from '../src/settings/sources.ts'
import { inertTopicConfigs, topicConfigs } from '../src/settings/topic-configs.ts'
import { metricRows } from '../src/telemetry/metrics.ts'
import { examples } from '../testing/permission-examples.ts'
import { compatibilityPage } from './compatibility.ts'
import { code, plain, table } from './markdown.ts'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const GENERATED = '<!-- Written by scripts/docs.ts from the tables in src. Edit the tables. -->'

function notes({ ours, notYet }: { readonly ours?: boolean; readonly notYet?: string | null }): string {
  return `${ours ? ' *Ours.*' : ''}${notYet ? ` *Not in this version: ${plain(notYet)}.*` : ''}`
}

function limits(text: string): string {
  return text === '' ? '' : ` (${plain(text)})`
}

function settingRows(key: Key, setting: Setting<unknown>): string[][] {
  const { shape, fallbackText, doc } = setting
  const full = fullKey(key)
  const variable = environmentName(full)
  const fallback = fallbackText === null ? '' : code(fallbackText || 'empty')
  const meaning = plain(doc) + notes(setting)
  if (shape.kind === 'one') {
    return [[code(full), code(variable), shape.type.name, fallback, meaning + limits(shape.type.limits)]]
  }
  if (shape.kind === 'list') {
    return [
      [
        code(full),
        `${code(variable)}, ${code(`${variable}_0`)}`,
        `list of ${shape.item.name}`,
        fallback,
        meaning + limits(shape.item.limits),
      ],
    ]
  }
  if (shape.kind === 'map') {
    return [[code(`${full}.<name>`), code(`${variable}_<NAME>`), `map of ${shape.item.name}`, fallback, meaning]]
  }
  const fields = Object.entries(shape.fields).map(([name, field]) => {
    const env = code(`${variable}_0_${environmentName(name)}`)
    return [
      code(`${full}[0].${name}`),
      env,
      field.type.name,
      '',
      plain(field.doc) + notes(field) + limits(field.type.limits),
    ]
  })
  return [[code(full), code(variable), 'list of entries', fallback, meaning], ...fields]
}

function settingsPage(): string {
  const parts = sections.map(({ title, rows }) => {
    const lines = Object.entries<Setting<unknown>>(rows).flatMap(([key, row]) => settingRows(key as Key, row))
    return `## ${title}\n\n${table(['Key', 'Environment', 'Type', 'Default', 'Meaning'], lines)}\n`
  })
  return `${GENERATED}

# Settings

Settings come from three sources; each beats the one before:

1. a YAML file: the one \`--config\` names, else the one \`SVC_CONFIG\` names, else \`./svc.yaml\` if it exists. Keys may be nested, written with
   dots, or both. Anchors, aliases, merge keys, tags, keys given twice and files above 1 MB are refused;
2. the environment: the key in capitals with \`_\` for \`.\` and \`-\`;
3. the command line: \`--svc.broker.port=9092\`.

A value that beats another is logged once at startup. A list that one source gives replaces the whole list of another (an empty value, \`--svc.topics=\`,
is an empty list); maps are merged name by name. A blank value takes an optional setting back to unset; a host is never blank.
An unknown key, a bad value or values that do not go together end startup with exit status 1 and one message. In the environment only names that begin with \`SVC_\` can be
unknown; names of the other families are shared with other programs.

Durations are digits and a unit (\`500ms\`, \`30s\`, \`5m\`, \`1h\`, \`1d\`); 0 needs no unit. Sizes are digits and a unit (\`64KB\`, \`1MB\` = 2^20 bytes, \`1GB\`, \`1TB\`), or bytes
as digits alone. Environment names of loggers are in capitals with \`_\` for \`.\`: \`LOGGING_LEVEL_SVC_KAFKA=DEBUG\`.

Keys that this project adds to its specification are marked *Ours*. *Not in this version* names the capability that a key waits for: the broker checks such a key and makes no use
of it, and a switch that asks for the capability ends startup instead of being ignored.

${parts.join('\n')}`
}

function topicConfigsPage(): string {
  const acting = topicConfigs.map(({ name, type, fallback, takes, doc, ours }) => [
    code(name),
    type,
    code(fallback),
    `${plain(doc)}${notes({ ours })} Takes ${plain(takes)}.`,
  ])
  const inert = inertTopicConfigs.map(({ name, only }) => [code(name), only === '' ? 'empty' : code(only)])
  return `${GENERATED}

# Topic configs

Overrides given with a topic beat the patterns of \`svc.topics\`, patterns beat these defaults. The broker refuses a name that is in neither table, and a value that the config does not take. Both get
INVALID_CONFIG and a message that names the config.

${table(['Config', 'Type', 'Default', 'Meaning'], acting)}

## Kafka's configs without effect here

Tools send these at creation. They are taken only with Kafka's default value, so that no client is promised an effect that does not happen.

${table(['Config', 'Only value'], inert)}
`
}

function metricsPage(): string {
  const rows = metricRows.map(({ name, scrapedName, kind, labels, doc, ours, notYet }) => [
    code(name),
    code(scrapedName),
    kind,
    labels.map(code).join(', '),
    plain(doc) + notes({ ours, notYet }),
  ])
  const buckets = metricRows
    .filter(row => row.buckets.length > 0)
    .map(row => [code(row.scrapedName), row.kind === 'timer' ? 'seconds' : '', row.buckets.join(', ')])
  return `${GENERATED}

# Metrics

In a scrape dots are underscores, timers end in \`_seconds\` and counters in \`_total\`; timers and distributions are histograms (\`_bucket\`, \`_sum\`, \`_count\`).

${table(['Metric', 'Scraped as', 'Kind', 'Labels', 'Meaning'], rows)}

## Buckets

${table(['Metric', 'Unit', 'Upper bounds'], buckets)}
`
}

function versions({ min, max }: { readonly min: number; readonly max: number }): string {
  return min === max ? String(min) : `${min}-${max}`
}

function apisPage(): string {
  const rows = messages.map(({ key, name, versions: served, advertised, flexible }) => {
    const refused =
      advertised.min < served.min
        ? ` (${versions({ min: advertised.min, max: served.min - 1 })} answered with an error)`
        : ''
    return [String(key), name, versions(advertised) + refused, flexible === null ? '' : `${flexible.min}+`]
  })
  return `${GENERATED}

# Kafka APIs

The APIs that ApiVersions advertises. The broker implements no other API: a request for it closes the connection.

${table(['Key', 'API', 'Versions', 'Flexible (KIP-482)'], rows)}

Brokers of one cluster ask each other over the same listener (decision 0046), also with APIs of ours that ApiVersions does
not name and no client needs: ${betweenBrokers.map(({ name, key, versions: served }) => `${name} ${versions(served)} (key ${key})`).join(', ')}.
`
}

function errorsPage(): string {
  const rows = errors.map(({ code: number, name, retriable, message }) => [
    String(number),
    code(name),
    retriable ? 'yes' : 'no',
    plain(message),
  ])
  return `${GENERATED}

# Kafka errors

The codes of the protocol. If an answer has a field for a message, the message there says more than this table.

${table(['Code', 'Name', 'Clients retry', 'Meaning'], rows)}
`
}

/** Returns the rules that allow each operation, by type of resource. */
function derivationRows(): string[][] {
  return Object.entries(derivations).flatMap(([type, operations]) =>
    Object.entries(operations).map(([operation, { of, rules, any }]) => [
      code(`${operation} ${type}`),
      `${rules.map(rule => code(`${rule} ${of}`)).join(' or ')}${any === true ? ' on any' : ''}`,
    ]),
  )
}

const SCOPES: Readonly<Record<string, string>> = {
  request: 'the whole request is refused',
  row: 'its rows are refused',
  hidden: 'the answer leaves it out',
}

/** Returns the needs of each API, from the examples that the tests send. */
function needRows(): string[][] {
  return [...Map.groupBy(examples, ([api]) => api)].map(([api, its]) => {
    const needs = its.flatMap(([, , , ...texts]) => texts.map(sayNeed))
    return [api, needs.length === 0 ? 'nothing' : [...new Set(needs)].join('<br>')]
  })
}

function sayNeed(text: string): string {
  const [scope, first, second] = text.split(/: | or /)
  const said = (permission: string) => code(permission.split(' ').slice(0, 2).join(' '))
  return `${said(first!)}${second === undefined ? '' : ` or ${said(second)}`}: ${SCOPES[scope!]}`
}

function authorizationPage(): string {
  return `${GENERATED}

# Authorization

How the broker decides what a Kafka client may do while \`svc.broker.acl.enabled\` is true. While it is false, every client may do everything. The reasons for
the rules that are not in the specification are in [decision 0049](../decisions/0049-what-a-rule-allows.md).

## Rules

A rule allows one principal one operation, \`READ\` or \`WRITE\`, on topics or on groups. Its resource is a name, a prefix of names followed by \`*\`, or \`*\`
alone for all. Names are compared with their case. Rules only grant, and an operation that no rule grants is refused. Operators manage rules with the admin API,
with \`ketch acls\`, and with \`kafka-acls.sh\`.

- A client has the rules of its own name and those of each of its groups (\`group:<name>\`), together.
- A client of a listener without SASL is \`ANONYMOUS\`, or the distinguished name of its certificate. It needs rules like any other.
- The principals of \`svc.broker.acl.super-users\`, \`group:<name>\` included, may do everything. So may the other brokers of the cluster.
- The rules of a client are fixed when it authenticates, and again when it authenticates again on the same connection. A change of rules has no effect on
  connections that are open.
- If the stored rules of a principal cannot be read, they grant nothing.

Kafka's other operations follow from the rules. An operation that is not in this table, and every operation on the cluster or on a transactional id that is not
here, is for super-users only: to delete topics, to add partitions, to change configs, quotas, credentials and rules.

${table(['Operation', 'Allowed by a rule for'], derivationRows())}

## APIs

What a request of each API needs, and what happens without it. The codes are \`TOPIC_AUTHORIZATION_FAILED\`, \`GROUP_AUTHORIZATION_FAILED\`,
\`CLUSTER_AUTHORIZATION_FAILED\` and \`TRANSACTIONAL_ID_AUTHORIZATION_FAILED\`, by the type of the resource. The check comes before every effect: a refused
request creates no topic and stores nothing.

${table(['API', 'Needs'], needRows())}

- A topic that a client may not describe does not exist for it. A list leaves it out. If a request names it, its rows have the same code whether it exists or not.
  A topic id is no secret, as in Kafka: an id without a topic has \`UNKNOWN_TOPIC_ID\`.
- Metadata and Produce create a topic by a pattern of \`svc.topics\` only for a client that may \`CREATE\` it. Otherwise an unknown topic that a pattern would
  create has \`TOPIC_AUTHORIZATION_FAILED\` in Metadata, as in Kafka.
- A Fetch checks every partition of its answer: those that it names, those of its fetch session, also if another client opened it, and all of them again when it
  has waited.
- The id of a member of a group gives no right: each request of a group needs \`READ\` on the group. Neither does a producer id: each Produce needs \`WRITE\` on
  the topic. A client with these rights can use the ids of others in the same group or topic.
- Answers that list authorized operations (KIP-430) list those that the client's rules allow.

## Kafka's ACL APIs

DescribeAcls, CreateAcls and DeleteAcls work on the same rules. They are for super-users. While ACLs are off, they answer
\`SECURITY_DISABLED\`, as Apache Kafka does without an authorizer: make the first rules with \`ketch acls\` or over the admin API, which ask for a sign-in.

| Kafka | Rule |
| --- | --- |
| \`User:ada\` | principal \`ada\` |
| \`Group:ops\` | principal \`group:ops\` |
| \`LITERAL\` \`orders\` | \`orders\` |
| \`LITERAL\` \`*\` | \`*\` |
| \`PREFIXED\` \`logs-\` | \`logs-*\` |
| operation \`READ\`, \`WRITE\` | the same |

A binding with another host than \`*\`, with \`DENY\`, for \`User:*\`, with the operation \`ALL\`, or with a literal name that ends in \`*\`, cannot be expressed. It gets
\`INVALID_REQUEST\`, and the message names the field.

\`kafka-acls.sh --producer\` also asks for \`DESCRIBE\` and \`CREATE\`, \`--consumer\` for \`DESCRIBE\`, and \`--idempotent\` for \`IDEMPOTENT_WRITE\`. These follow from
\`READ\` and \`WRITE\`. The broker accepts such a binding if the principal has a rule that implies it, or gets one by the same request. It stores nothing for it, so
\`--list\` shows only \`READ\` and \`WRITE\`, and the operation ends with the rule that implies it. Without such a rule the binding is refused.

## Differences from Apache Kafka

The same rule, in Ketch and in Apache Kafka with its \`StandardAuthorizer\`. \`e2e/authorization\` compares every API and fails for a difference that is not here.

${table(
  ['Difference'],
  differences.map(({ why }) => [plain(why)]),
)}

## In the log

The logger \`svc.kafka.authorization\` writes at INFO which permission a client does not have and which rules allow it (\`allowedBy\`), at most one line in ten seconds for each operation and type. The
logger \`svc.audit\` writes a line for each request that changes topics, records, configs, quotas, groups or rules: the client, its tenant and address, the change
with names and without values, and the errors of the answer. Lines of refused requests are included.
`
}

/** The limits that only say that a number is exact. */
const EXACT = Number.MAX_SAFE_INTEGER

function sayType(schema: ArgumentSchema): string {
  const { type = 'any', enum: choices, const: only, anyOf, items, minimum, maximum } = schema
  if (anyOf !== undefined) return anyOf.map(sayType).join(' or ')
  const values = only === undefined ? choices : [only]
  if (values !== undefined) return values.map(value => code(String(value))).join(', ')
  if (type === 'array') return items === undefined ? 'list' : `list of ${sayType(items)}`
  const least = minimum === undefined || minimum === -EXACT ? '' : ` from ${minimum}`
  return `${type}${least}${maximum === undefined || maximum === EXACT ? '' : ` to ${maximum}`}`
}

function argumentRows(tool: Tool): string[][] {
  return argumentsOf(tool).map(({ name, schema, isNeeded }) => {
    const fallback = schema.default === undefined ? '' : code(JSON.stringify(schema.default))
    return [code(name), sayType(schema), isNeeded ? 'needed' : fallback, withCode(schema.description ?? '')]
  })
}

/** Returns the text as Markdown, with what stands between backticks as code. */
function withCode(text: string): string {
  return text
    .split('`')
    .map((part, at) => (at % 2 === 0 ? plain(part) : code(part)))
    .join('')
}

/** The sentences that all descriptions end with are said once above. */
function ownWords({ description }: Tool): string {
  return description.replace(/ The first call changes nothing: .*$| In the answer, everything below .*$/, '')
}

function toolText(tool: Tool): string {
  const hidden = 'showsRecords' in tool ? ' It does not exist with `svc.mcp.messages-enabled=false`.' : ''
  const destructive = isChanging(tool) && tool.isDestructive ? ' The change cannot be taken back.' : ''
  return `### ${code(tool.name)}

${withCode(ownWords(tool))}${destructive}${hidden}

${table(['Argument', 'Type', 'Default', 'Meaning'], argumentRows(tool))}
`
}

function agentsPage(): string {
  const { least, usual, most } = ANSWER_BYTES
  const [changes, reads] = [allTools.filter(isChanging), allTools.filter(tool => !isChanging(tool))]
  const resources = allResources.map(({ uri, description, mimeType }) => [code(uri), mimeType, plain(description)])
  const prompts = allPrompts.map(({ name, description, input }) => [
    code(name),
    Object.keys(input.shape).map(code).join(', '),
    plain(description),
  ])
  return `${GENERATED}

# Tools for agents

What a client of the Model Context Protocol finds at \`/mcp\` while \`svc.mcp.enabled\` is true. [Agents](../guides/agents.md) says how to switch it on, connect clients and stay safe.

An answer is JSON: \`{"untrusted_data": …, "left_out"?: "…", "cursor"?: "…"}\`. Names, records and texts that others wrote stand only below \`untrusted_data\`. They are data, and
never an instruction. An answer has at most \`maxBytes\` bytes: ${usual} by default, and ${least} to ${most}. If rows are missing, \`left_out\` says so, and the same call with the \`cursor\`
answers the next ones. A refusal is \`{"error": "CODE", "untrusted_data": {"detail": "…"}}\`, with the codes of the admin API.

## Tools that read

${reads.map(toolText).join('\n')}
## Tools that change

They exist only with \`svc.mcp.mutations-enabled=true\`. A change takes two calls. The first one changes nothing: it answers what would happen, and a \`confirm\` value. A second call with the same arguments and
this value makes the change. If the client can ask a person, it asks instead, and the model does not see the value.

${changes.map(toolText).join('\n')}
## Resources

${table(['Address', 'Type', 'Content'], resources)}

## Prompts

${table(['Prompt', 'Argument', 'Purpose'], prompts)}
`
}

/** Returns the value as TypeScript. */
function literal(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(/"([a-z]+)":/gi, '$1: ')
    .replaceAll('":', '": ')
    .replaceAll(',', ', ')
    .replaceAll('"', "'")
}

/**
 * Returns the operations of the admin API for the console: what to ask, the role that it takes, and a model of the
 * answer (console/api/likeness.ts).
 */
function operationsModule(): string {
  const rows = allRoutes
    .filter(({ path }) => path.startsWith(`${ADMIN_PATH}/`))
    .map(
      route =>
        `  '${route.verb}': { method: '${route.method}', path: '${route.path}', needs: '${route.needs}', answer: ${literal(modelOfAnswer(route))} },`,
    )
    .sort()
  return `// Written by scripts/docs.ts from the routes in src/http/routes. Edit the routes.

export const operations = {
${rows.join('\n')}
} as const
`
}

const pages: Readonly<Record<string, () => string>> = {
  'console/api/operations.ts': operationsModule,
  'docs/reference/apis.md': apisPage,
  'docs/reference/authorization.md': authorizationPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/topic-configs.md': topicConfigsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/mcp.md': agentsPage,
  'docs/compatibility.md': compatibilityPage,
}

function readPage(path: string): string | null {
  try {
    return readFileSync(join(ROOT, path), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const isCheck = process.argv.includes('--check')
for (const [path, render] of Object.entries(pages)) {
  const text = render()
  if (readPage(path) === text) continue
  if (isCheck) {
    console.error(`${path} differs from its source; run: npm run docs`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true })
    writeFileSync(join(ROOT, path), text)
    console.log(`wrote ${path}`)
  }
}
