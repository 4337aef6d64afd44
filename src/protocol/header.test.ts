import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headerLookup, readRequestHeader, readResponseHeader, requestHeader, responseHeader } from './header.ts'
import { Malformed } from './malformed.ts'
import { messages } from './messages/all.ts'
import { apiVersions } from './messages/api-versions.ts'
import { produce } from './messages/produce.ts'

const lookup = headerLookup(messages)

test('a request header is read as it was written, flexible or not, with and without a client id', () => {
  for (const api of messages)
    for (let version = api.versions.min; version <= api.versions.max; version++)
      for (const clientId of [null, '', 'rdkafka', 'größe']) {
        const header = requestHeader(api, version, -7, clientId)
        const wanted = { apiKey: api.key, apiVersion: version, correlationId: -7, clientId, bodyOffset: header.length }
        assert.deepEqual(readRequestHeader(header, lookup), wanted)
      }
})

test('the header of an unknown key, and of ApiVersions in a later version, is readable', () => {
  const unknown = readRequestHeader(Buffer.from('03e7000000000001ffff', 'hex'), lookup)
  assert.deepEqual([unknown.apiKey, unknown.bodyOffset], [999, 10])
  const later = readRequestHeader(Buffer.from('00120009000000010001610000', 'hex'), lookup)
  assert.deepEqual([later.apiVersion, later.clientId, later.bodyOffset], [9, 'a', 12])
})

test('hostile headers are malformed', () => {
  const refused = (hex: string, reason: RegExp) =>
    assert.throws(
      () => readRequestHeader(Buffer.from(hex, 'hex'), lookup),
      (error: unknown) => error instanceof Malformed && reason.test(error.message),
    )
  refused('', /at least 10 bytes/)
  refused('001200030000000100', /at least 10 bytes/)
  refused('00120003000000017fff61', /clientId: needs 32767 bytes/)
  refused('0012000300000001fffe', /clientId: the length -2/)
  refused('00120003000000010001ff00', /not UTF-8/)
  refused('0012000300000001ffff', /tags: the bytes end too early/)
  refused('0012000300000001ffff80dac409', /20000000 tagged fields do not fit/)
  refused(`0012000300000001ffff41${'00'.repeat(130)}`, /65 tagged fields do not fit/)
  refused('0012000300000001ffff0201000100', /not in rising order/)
  refused('0012000300000001ffff010105', /tags/)
  refused('0012000300000001ffffffffffffff01', /does not fit 32 bits/)
})

test('the response header of ApiVersions has no tags, others have them if they are flexible', () => {
  assert.equal(responseHeader(apiVersions, 4, 1).toString('hex'), '00000001')
  assert.equal(responseHeader(produce, 8, 1).toString('hex'), '00000001')
  assert.equal(responseHeader(produce, 9, 1).toString('hex'), '0000000100')
  assert.deepEqual(readResponseHeader(responseHeader(produce, 9, 5), produce, 9), { correlationId: 5, bodyOffset: 5 })
})
