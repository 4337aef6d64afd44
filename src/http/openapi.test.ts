import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeRoutes } from './openapi.ts'
import { allRoutes } from './routes/all.ts'

test('a body refuses members that nobody named, however deep they lie', () => {
  const loose: string[] = []
  const walk = (schema: unknown, at: string): void => {
    if (typeof schema !== 'object' || schema === null) return
    const { properties, additionalProperties } = schema as Readonly<Record<string, unknown>>
    // A map takes any name, and says what stands under it.
    if (properties !== undefined && additionalProperties !== false) loose.push(at)
    for (const [name, value] of Object.entries(schema)) walk(value, `${at}.${name}`)
  }
  const { paths } = describeRoutes(allRoutes) as { paths: Record<string, Record<string, { requestBody?: unknown }>> }
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { requestBody }] of Object.entries(operations)) walk(requestBody, `${method} ${path}`)
  assert.deepEqual(loose, [])
})

test('the document says what holds where a query leaves something out', () => {
  const { paths } = describeRoutes(allRoutes) as {
    paths: Record<string, { get: { parameters: { name: string; schema: { default?: unknown } }[] } }>
  }
  const defaults = paths['/api/v1/metrics/topics']!.get.parameters.map(({ name, schema }) => [name, schema.default])
  assert.deepEqual(defaults.slice(0, 2), [
    ['offset', 0],
    ['limit', 100],
  ])
})
