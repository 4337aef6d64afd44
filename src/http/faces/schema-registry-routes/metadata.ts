// The routes of the schema registry whose answers do not depend on schemas: Confluent's paths that clients and tools
// ask before anything else.

import { z } from 'zod'
import { type AnyRoute, reply } from '../../route.ts'
import { registryRoute } from '../schema-registry-route.ts'

const nothing = z.object({})
const names = z.array(z.string())

export const metadataRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/',
    needs: 'read',
    verb: 'probe registry',
    doc: 'An empty object: the registry answers.',
    answers: { 200: nothing },
    answer: () => reply(200, {}),
  }),
  registryRoute({
    method: 'POST',
    path: '/',
    needs: 'lookup',
    verb: 'probe registry by POST',
    doc: 'An empty object: the registry answers.',
    answers: { 200: nothing },
    answer: () => reply(200, {}),
  }),
  registryRoute({
    method: 'GET',
    path: '/schemas/types',
    needs: 'read',
    verb: 'list schema types',
    doc: 'The formats of schemas.',
    answers: { 200: names },
    answer: () => reply(200, ['JSON', 'PROTOBUF', 'AVRO']),
  }),
  registryRoute({
    method: 'GET',
    path: '/contexts',
    needs: 'read',
    verb: 'list schema contexts',
    doc: 'The one context, which is the default.',
    answers: { 200: names },
    answer: () => reply(200, ['.']),
  }),
  registryRoute({
    method: 'GET',
    path: '/v1/metadata/id',
    needs: 'read',
    verb: 'show registry id',
    doc: 'The id of the cluster, in the form of Confluent’s metadata service.',
    answers: {
      200: z.object({
        id: z.string(),
        scope: z.object({ path: names, clusters: z.record(z.string(), z.string()) }),
      }),
    },
    answer: (_request, { catalogue }) =>
      reply(200, {
        id: '',
        scope: {
          path: [],
          clusters: {
            'kafka-cluster': catalogue.current().clusterId,
            'schema-registry-cluster': 'schema-registry',
          },
        },
      }),
  }),
  registryRoute({
    method: 'GET',
    path: '/v1/metadata/version',
    needs: 'read',
    verb: 'show registry version',
    doc: 'The version of Ketch. It has no commit, because a release does not know its own.',
    answers: { 200: z.object({ version: z.string(), commitId: z.string() }) },
    answer: async (_request, { build }) => reply(200, { version: (await build()).version, commitId: '' }),
  }),
  registryRoute({
    method: 'GET',
    path: '/associations/resources/:namespace/:name',
    needs: 'read',
    verb: 'list associations of a resource',
    doc: 'No association. Serializers ask before they produce, and then name the subject by the topic.',
    params: z.object({ namespace: z.string(), name: z.string() }),
    answers: { 200: z.array(nothing) },
    answer: () => reply(200, []),
  }),
  registryRoute({
    method: 'GET',
    path: '/associations/subjects/:subject',
    needs: 'read',
    verb: 'list associations of a subject',
    doc: 'No association.',
    params: z.object({ subject: z.string() }),
    answers: { 200: z.array(nothing) },
    answer: () => reply(200, []),
  }),
]
