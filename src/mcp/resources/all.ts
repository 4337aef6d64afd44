// The table of the resources that agents may read, in the order in which clients see them. A resource of the broker is
// the answer of a tool. The pages of the reference are files of this package.

import { readFile } from 'node:fs/promises'
import { declined } from '../../admin/declined.ts'
import { completeGroup, completeSchemaId, completeTopic } from '../completions.ts'
import type { Resource } from '../resource.ts'
import { type CallContext, isChanging, isRefused, type McpRooms, type Tool } from '../tool.ts'
import { clusterTools } from '../tools/cluster.ts'
import { groupTools } from '../tools/groups.ts'
import { schemaTools } from '../tools/schemas.ts'
import { topicTools } from '../tools/topics.ts'

const FOLDER = new URL('../../../docs/reference/', import.meta.url)
/** The largest page in bytes. A longer one is cut at the end of a line. */
const MOST_BYTES = 64 * 1024

/**
 * The pages of the reference, with the end of the sentence that describes each. coverage.md names tests, which no
 * operator needs.
 */
const PAGES: Readonly<Record<string, string>> = {
  settings: 'every setting, its default and its bounds',
  'topic-configs': 'every config of a topic',
  apis: 'every Kafka API and version that a broker serves',
  authorization: 'every permission that a Kafka request needs, and the rules that give it',
  errors: 'every Kafka error code that a broker answers',
  metrics: 'every metric and its labels',
  limits: 'every bound on the things that a client can make the broker keep',
  'redis-keys': 'every key in Redis, its content, and the rights that the Redis user needs',
  mcp: 'every tool, resource and prompt of this endpoint',
}

export const allResources: readonly Resource[] = [
  {
    uri: 'ketch://health',
    name: 'health',
    title: 'Cluster health',
    description: 'The answer of cluster_health.',
    mimeType: 'application/json',
    read: (_, rooms, call) => answerOf(toolOf(clusterTools, 'cluster_health'), {}, rooms, call),
  },
  {
    uri: 'ketch://topics/{topic}',
    name: 'topic',
    title: 'One topic',
    description: 'The answer of describe_topic.',
    mimeType: 'application/json',
    completes: { topic: completeTopic },
    read: ({ topic }, rooms, call) => answerOf(toolOf(topicTools, 'describe_topic'), { topic }, rooms, call),
  },
  {
    uri: 'ketch://groups/{group}',
    name: 'group',
    title: 'One consumer group',
    description: 'The answer of describe_group, with the positions of the group.',
    mimeType: 'application/json',
    completes: { group: completeGroup },
    read: ({ group }, rooms, call) => answerOf(toolOf(groupTools, 'describe_group'), { group }, rooms, call),
  },
  {
    uri: 'ketch://schemas/{id}',
    name: 'schema',
    title: 'One schema',
    description: 'The answer of get_schema for an id.',
    mimeType: 'application/json',
    completes: { id: completeSchemaId },
    async read({ id }, rooms, call) {
      if (!/^[1-9][0-9]{0,9}$/.test(id!)) return declined('NOT_FOUND', 'The id of a schema is a number.')
      return await answerOf(toolOf(schemaTools, 'get_schema'), { id: Number(id) }, rooms, call)
    },
  },
  ...Object.entries(PAGES).map(
    ([page, lists]): Resource => ({
      uri: `ketch://reference/${page}`,
      name: `reference_${page.replaceAll('-', '_')}`,
      title: `Reference: ${page.replaceAll('-', ' ')}`,
      description: `A page of the reference of this version. It lists ${lists}.`,
      mimeType: 'text/markdown',
      read: () => readPage(page),
    }),
  ),
]

function toolOf(tools: readonly Tool[], name: string): Tool {
  return tools.find(tool => tool.name === name)!
}

/** Resolves with the answer of the tool, of which a resource has one page. */
async function answerOf(tool: Tool, args: object, rooms: McpRooms, call: CallContext) {
  const input = tool.input.safeParse(args)
  if (!input.success || isChanging(tool)) return declined('NOT_FOUND', 'There is no such thing.')
  const answer = await tool.run(input.data, rooms, call)
  if (isRefused(answer) || answer.rows === undefined) return answer
  return { ...answer, rows: { ...answer.rows, cursorAfter: () => null } }
}

async function readPage(page: string) {
  const text = await readFile(new URL(`${page}.md`, FOLDER), 'utf8')
  if (Buffer.byteLength(text) <= MOST_BYTES) return { kind: 'text', text } as const
  const kept = Buffer.from(text)
    .subarray(0, MOST_BYTES - 100)
    .toString()
  return {
    kind: 'text',
    text: `${kept.slice(0, kept.lastIndexOf('\n'))}\n\nThe rest of the page is left out.\n`,
  } as const
}
