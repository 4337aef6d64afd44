import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusals } from '../../registry/refusals.ts'
import { problem } from '../problems.ts'
import { errorCodeOf, fromRefused, registryErrorOf, registryErrors, registryProblem } from './schema-registry-errors.ts'

test('every error of the registry has the status that its code begins with, or one of its own', () => {
  for (const [name, [code, status]] of Object.entries(registryErrors) as [
    keyof typeof registryErrors,
    readonly number[],
  ][]) {
    const made = registryProblem(name, 'said')
    assert.equal(made.status, status ?? Number(String(code).slice(0, 3)), name)
    assert.deepEqual(registryErrorOf({ ...made, status: 404 }, 'id'), { error_code: code, message: 'said' }, name)
  }
})

test('a refusal of the verbs becomes the problem with its code and text, and an unknown code is a mistake', () => {
  const refused = (code: number) => fromRefused({ kind: 'refused', code, message: 'said' })
  for (const code of [409, 40401, 40403, 40408, 42201, 42208]) {
    assert.deepEqual(registryErrorOf(refused(code), 'id'), { error_code: code, message: 'said' })
    assert.equal(refused(code).status, Number(String(code).slice(0, 3)))
  }
  assert.throws(() => refused(49999), /the table of the registry's errors has the code 49999/)
})

test('problems of every face have Confluent’s codes and, where clients search them, its messages', () => {
  const said = (...args: Parameters<typeof problem>) => registryErrorOf(problem(...args), 'the-id')
  assert.deepEqual(said('NOT_FOUND', 'This path does not exist.'), { error_code: 404, message: 'HTTP 404 Not Found' })
  assert.deepEqual(said('METHOD_NOT_ALLOWED'), { error_code: 405, message: 'HTTP 405 Method Not Allowed' })
  assert.deepEqual(said('NOT_ACCEPTABLE'), { error_code: 406, message: 'HTTP 406 Not Acceptable' })
  assert.deepEqual(said('UNSUPPORTED_MEDIA_TYPE'), { error_code: 415, message: 'HTTP 415 Unsupported Media Type' })
  assert.deepEqual(said('FORBIDDEN', 'No.'), { error_code: 40301, message: 'No.' })
  assert.equal(errorCodeOf(problem('UNAUTHENTICATED')), 401)
  assert.deepEqual(said('INTERNAL_ERROR', 'See the log.'), {
    error_code: 500,
    message: 'See the log. (request the-id)',
  })
  assert.deepEqual([problem('STORE_UNAVAILABLE').status, errorCodeOf(problem('STORE_UNAVAILABLE'))], [503, 50001])
})

test('a registry with too much to do answers 50002 with the status 503, and when to try again', () => {
  const { code, message } = refusals.busy('The registry has no time.')
  const busy = fromRefused({ kind: 'refused', code, message })
  assert.deepEqual([busy.status, busy.headers['retry-after'], errorCodeOf(busy)], [503, '1', 50002])
})
