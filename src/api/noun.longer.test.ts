// A minimal noun of the API. Its one schema checks the route's response, appears in the reference and types the command
// line.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { z } from 'zod'
import { startBroker } from '../../testing/broker.ts'
import { systemClock } from '../base/clock.ts'
import { createApi } from '../cli/api.ts'
import { terminalOf } from '../cli/terminal.ts'
import { describeRoutes } from '../http/openapi.ts'
import { reply, route } from '../http/route.ts'
import { authRoutes } from '../http/routes/auth.ts'

const kettleShape = z.object({ name: z.string(), litres: z.number().min(0) }).meta({ id: 'Kettle' })
const newKettleShape = z.strictObject({ litres: z.number().min(0) })
type Kettle = z.infer<typeof kettleShape>
type NewKettle = z.input<typeof newKettleShape>

const fill = route({
  method: 'PUT',
  path: '/api/v1/kettles/:name',
  needs: 'admin',
  verb: 'fill kettle',
  tag: 'kettles',
  doc: 'Fills a kettle.',
  params: z.object({ name: z.string() }),
  body: newKettleShape,
  audited: ['litres'],
  answers: { 200: kettleShape },
  // The response for the kettle "broken" lacks a member that the schema requires.
  answer: ({ params: { name }, body }) => reply(200, name === 'broken' ? { name } : { name, litres: body.litres }),
})

test("one schema checks the route's answer, is the reference's component and types the command line's", async t => {
  const routes = [...authRoutes, fill]
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { http: { routes } })
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const terminal = terminalOf(streams, {}, new AbortController().signal)
  const api = createApi({ url, user: 'admin', terminal, clock: systemClock })
  t.after(() => api.close())

  const kettle = await api.put<Kettle>('/api/v1/kettles/blue', { litres: 2 } satisfies NewKettle)
  assert.equal(kettle.litres.toFixed(1), '2.0')
  // @ts-expect-error the schema has no such member
  assert.equal(kettle.colour, undefined)

  await assert.rejects(api.put('/api/v1/kettles/broken', { litres: 2 }), /INTERNAL_ERROR/)
  await assert.rejects(api.put('/api/v1/kettles/blue', { litres: -1 }), {
    message: 'litres: got -1, takes a number of at least 0 [INVALID_REQUEST]',
  })

  const { components } = describeRoutes([fill]) as { components: { schemas: Record<string, { required: string[] }> } }
  assert.deepEqual(components.schemas.Kettle!.required, ['name', 'litres'])
  const other = route({
    ...fill,
    verb: 'empty kettle',
    method: 'DELETE',
    answers: { 200: z.object({}).meta({ id: 'Kettle' }) },
  })
  assert.throws(() => describeRoutes([fill, other]), /two shapes are called Kettle/)
})
