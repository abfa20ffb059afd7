// What the iterations of a worker mean, and what other policies would make of the same requests. Draws nothing.

export const MOST_TOKENS = 32; // of an answer
export const EMPTY = { waiting: 0, cells: new Map(), freed: new Set(), done: [], numWanted: 0, numJoined: 0 };

/** The requests of one worker. They get numbers in the order of their admission: low slots are given first. */
export class Batch {
  #running = new Map(); // slot: request
  #numSeen = 0;
  #last = EMPTY;

  /** Returns the column of an iteration, and before it an empty one where the worker had nothing to do. */
  columnsOf([waiting, began, decoded, ended]) {
    const last = this.#last, wasIdle = last.cells.size && last.cells.size === last.freed.size && !last.waiting;
    const column = { ...EMPTY, waiting, cells: new Map(), freed: new Set(ended), numWanted: Math.min(last.waiting, last.freed.size) };
    const goOn = new Set(decoded);
    for (const slot of this.#running.keys()) if (!goOn.has(slot)) this.#running.delete(slot); // it was cancelled
    for (const slot of [...began, ...decoded].sort((one, other) => one - other)) {
      if (!this.#running.has(slot)) this.#running.set(slot, { number: this.#numSeen++, numTokens: 0, isWhole: !goOn.has(slot) });
    }
    for (const [slot, request] of this.#running) {
      const isNew = !request.numTokens++;
      const isJoined = isNew && column.numJoined < column.numWanted;
      column.numJoined += isJoined;
      column.cells.set(slot, { number: request.number, isPrompt: isNew && request.isWhole, isLast: column.freed.has(slot), isJoined });
    }
    column.done = ended.map((slot) => this.#running.get(slot));
    for (const slot of ended) this.#running.delete(slot);
    column.next = this.#numSeen;
    this.#last = column;
    return wasIdle ? [this.#empty(), column] : [column];
  }

  /** Returns an empty column where one is due: the worker reports that it did nothing. */
  idle() {
    const wasIdle = this.#last.cells.size === 0;
    this.#running.clear();
    this.#last = EMPTY;
    return wasIdle ? [] : [this.#empty()];
  }

  #empty() {
    return { ...EMPTY, next: this.#numSeen };
  }
}

/** The columns of the same requests under another policy, with all of them waiting from the start. */
export function replay(requests, policy, numSlots) {
  const waiting = requests.toSorted((one, other) => one.number - other.number), slots = new Map(), columns = [];
  while (waiting.length || slots.size) {
    if (policy === "continuous" || !slots.size) {
      for (let slot = 0; slot < numSlots && waiting.length; slot++) {
        if (!slots.has(slot)) slots.set(slot, { ...waiting.shift(), done: 0 });
      }
    }
    columns.push(new Map());
    for (const [slot, one] of slots) {
      columns.at(-1).set(slot, { number: one.number, isPrompt: !one.done, isWasted: one.done >= one.numTokens });
      if (++one.done >= (policy === "fixed" ? MOST_TOKENS : one.numTokens)) slots.delete(slot);
    }
  }
  return columns;
}
