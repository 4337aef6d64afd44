import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueOf, topicOf } from '../../../testing/catalogue-of.ts'
import { testSettings } from '../../settings/settings.ts'
import { registryDetails } from './registry-health.ts'

const settings = testSettings()
const rule = (refused: number) => ({
  ...({ action: 'reject', isRequired: false, strategy: 'TopicName', subject: 's' } as const),
  refused,
})

test('the health counts the records that were not valid, and names the topics with most of them', () => {
  const names = Array.from({ length: 12 }, (_, at) => `t${at}`)
  const catalogue = { current: () => catalogueOf(names.map(name => topicOf(name))) }
  const judge = {
    judged: ({ name }: { readonly name: string }) => ({ key: rule(0), value: rule(Number(name.slice(1))) }),
  }
  assert.deepEqual(registryDetails({ catalogue, judge, settings }), {
    validatesByDefault: true,
    invalidRecords: 66,
    topicsWithInvalidRecords: ['t11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3', 't2'],
  })
})

test('without a schema registry the health says nothing about it', () => {
  assert.equal(registryDetails({ catalogue: { current: () => catalogueOf([]) }, judge: null, settings }), null)
})
