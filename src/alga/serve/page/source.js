"use strict";
// Where the page asks: a server whose networks answer, or the answers of one network that lie in this file.
// Neither adds digits: every output here is what a network wrote for a prompt.

class Refused extends Error {}

async function asked(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused("the server does not answer");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(said.error ?? `the server answers with status ${answer.status}`);
}

const query = (path, values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return `${path}?${new URLSearchParams(given)}`;
};

class Server {
  embedded = false;
  models = async () => (await asked("v1/models")).json();
  domain = async (model) => (await asked(query("v1/domain", { model }))).json();
  certificate = async (model) => (await asked(query("v1/certificate", { model }))).json();
  weights = async (model) => (await asked(query("v1/weights", { model }))).json();
  step = async (model, prompt, hurt) => (await asked(query("v1/step", { model, prompt, ...hurt }))).json();
  damage = async (model, hurt, operands) => (await asked("v1/damage", { model, ...hurt, operands })).json();
  answer = async (verb, request) => (await asked(`v1/${verb}`, request)).json();

  // Calls `heard` with each server-sent event as it comes.
  async steps(verb, { operands, model }, heard) {
    const answer = await asked(`v1/${verb}/steps`, { operands, model });
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const events = waiting.split("\n\n");
      waiting = events.pop();
      for (const event of events) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event);
        if (name === "error") throw new Refused(JSON.parse(data).error);
        heard(name, JSON.parse(data));
      }
    }
  }
}

// The file holds a table (docs/export.md), the domain, each step's inside, and a few damaged copies of the table.
class Embedded {
  embedded = true;

  constructor(content) {
    this.content = content;
    const { cells, contexts, columns } = content.domain;
    this.places = new Map(cells.map((cell, i) => [cell.prompt, i]));
    this.prompts = new Map(cells.map((cell) => [`${contexts[cell.row]} ${columns[cell.place]}`, cell.prompt]));
  }

  models = async () => this.content.models;
  certificate = async () => this.content.certificate;
  domain = async () => this.content.domain;
  weights = async () => ({ tensors: {}, favourite: this.content.weight, levels: this.content.levels.map((level) => level.amount) });

  solve(table, margins, operands) {
    const rows = operands.map((text) => text.replace(/^0+(?=.)/, ""));
    for (const row of rows) if (!row) throw new Refused("a number needs at least one digit, got the empty text");
    const width = Math.max(...rows.map((row) => row.length));
    if (table.repeats && rows[1].length > 1) throw new Refused(`expected a single digit, got ${rows[1].length} digits`);
    if (table.repeats) rows[1] = rows[1].repeat(width);
    const digit = (row, i) => row[table.from_right ? i - width + row.length : i] ?? table.fill;
    const steps = [];
    let replies = table.start, before = null, failure = "";
    for (let i = 0; i < width; i++) {
      const place = table.from_right ? width - 1 - i : i;
      const column = rows.map((row) => digit(row, place)).join("");
      const last = i === width - 1;
      const prompt = this.prompts.get(`${before} ${column}`) ?? (before === null ? column : `${before}C${column}`);
      if (!replies || !(column in replies)) throw new Refused(`the network knows no column ${column}`);
      const output = replies[column];
      if (output === null) {
        failure = `the network failed at step ${i + 1}: it wrote no output for ${prompt}`;
        steps.push({ prompt, text: "", margin: null, written: null, carry: "" });
        break;
      }
      const written = table.written[output];
      const carry = output.endsWith(written) ? output.slice(0, output.length - written.length) : output.slice(written.length);
      const text = last ? table.ending[output] : written;
      steps.push({ prompt, text: `${output}S`, margin: margins(prompt), written: text, carry });
      if (last && text.length < output.length) throw new Refused(`the last output, ${output}, goes on: with these numbers there is no answer`);
      before = output;
      replies = table.after[output];
    }
    const pieces = steps.map((step) => step.written);
    const answer = failure ? null : (table.from_right ? pieces.reverse() : pieces).join("").replace(/^0+(?=[0-9a-z])/, "");
    const problem = {
      model: this.content.domain.model, task: table.task, sign: this.content.models.models[0].sign, rows,
      expression: operands.join(this.content.models.models[0].sign), from_right: table.from_right, repeats: table.repeats, columns: width,
    };
    return { problem, steps, answer, failure };
  }

  margin = (prompt) => this.content.domain.cells[this.places.get(prompt)]?.margin ?? null;

  async answer(verb, { operands }) {
    const { answer, failure, steps } = this.solve(this.content.table, this.margin, operands);
    return { answer, failure, engine: "table", steps: steps.length, certified: this.content.table.certified };
  }

  async steps(verb, { operands }, heard) {
    const { problem, steps, answer } = this.solve(this.content.table, this.margin, operands);
    heard("problem", problem);
    heard("steps", steps);
    heard("done", { answer });
  }

  async step(model, prompt, hurt) {
    const place = this.places.get(prompt);
    if (place === undefined || hurt) return null;
    const { vocabulary, input, output, layers, heads, probabilities, attention } = this.content.inside;
    const cell = this.content.domain.cells[place];
    const positions = input + cell.text.length;
    const most = input + output;
    this.bytes ??= [probabilities, attention].map((text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
    const [surprise, looks] = this.bytes;
    const chance = (i, j) => {
      const at = 2 * ((place * output + i) * vocabulary.length + j);
      return Math.exp(-(surprise[at] + 256 * surprise[at + 1]) / 1000);
    };
    const look = (layer, head, i, j) => looks[(((place * layers + layer) * heads + head) * most + i) * most + j] / 255;
    const some = (count, make) => Array.from({ length: count }, (_, i) => make(i));
    return {
      prompt, text: cell.text, margin: cell.margin, expected: cell.expected, vocabulary,
      tokens: [...prompt.padEnd(input, "P"), "\n", ...cell.text.slice(0, -1)],
      probabilities: some(cell.text.length, (i) => some(vocabulary.length, (j) => chance(i, j))),
      attention: some(layers, (l) => some(heads, (h) => some(positions, (i) => some(positions, (j) => look(l, h, i, j))))),
    };
  }

  async damage(model, { amount }, operands) {
    const level = this.content.levels.find((level) => level.amount === amount);
    const domain = { ...this.content.domain };
    domain.cells = domain.cells.map((cell, i) => ({ ...cell, text: level.texts[i] ?? cell.text, margin: level.margins[i] }));
    const margins = (prompt) => domain.cells[this.places.get(prompt)]?.margin ?? null;
    const problem = this.solve(level.table, margins, operands ?? level.example);
    const healthy = this.solve(this.content.table, this.margin, operands ?? level.example);
    return {
      domain, certificate: level.certificate, example: level.example, weight: level.weight,
      problem: { ...problem.problem, steps: problem.steps, answer: problem.answer, failure: problem.failure, exact: healthy.answer },
    };
  }
}

function source() {
  const embedded = document.getElementById("alga-content");
  return embedded ? new Embedded(JSON.parse(embedded.textContent)) : new Server();
}
