// The code of the thread that trains one dictionary and then ends.

import { parentPort, workerData } from 'node:worker_threads'
import { stepBack } from '../base/quiet-thread.ts'
import { type TrainingInput, trainDictionary } from './dictionary-training.ts'

stepBack()
parentPort!.postMessage(trainDictionary(workerData as TrainingInput))
