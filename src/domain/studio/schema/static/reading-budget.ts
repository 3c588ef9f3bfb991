/**
 * What parsing the configuration of a site may cost, all its files and all their readers together. A step takes a microsecond or two at worst: a character
 * that the parser of code looks at (more than once where code can be read in several ways), half a character of YAML or TOML, or 16
 * characters of a package manifest. Sites need some ten thousand; what is made to be slow ends here.
 */
export const mostSteps = 500_000;
/** The same for folding what has been parsed: a step is an expression. */
export const mostFolded = 200_000;

/** Steps for YAML and TOML: two a character, and four for a bracket, since a list or an object costs its parser twice as much as text. */
export const dataSteps = (text: string): number => 2 * (text.length + (text.match(/[[{]/g)?.length ?? 0));
/** Characters of a package manifest for a step. */
export const manifestCharacters = 16;

/** Thrown in the middle of a text that costs more than is left. */
export class BudgetSpent extends Error {
  constructor() {
    super(`Reading the configuration of this site takes more than ${mostSteps} steps`);
  }
}

/** What is left for one reading of a site. */
export class ReadingBudget {
  #steps: number;
  #folded: number;

  constructor({ steps = mostSteps, folded = mostFolded } = {}) {
    this.#steps = steps;
    this.#folded = folded;
  }

  get left(): { steps: number; folded: number } {
    return { steps: Math.max(0, this.#steps), folded: Math.max(0, this.#folded) };
  }

  /** Takes steps for parsing; false when there are not as many left, from then on for good. */
  parse(steps: number): boolean {
    this.#steps -= steps;
    return this.#steps >= 0;
  }

  /** The same for folding. */
  fold(steps: number): boolean {
    this.#folded -= steps;
    return this.#folded >= 0;
  }
}

/**
 * A text that takes a step for each character that is looked at. The parser of code tries generics, type assertions, arrow functions and JSX one after the
 * other and reads the text once more for each: nested, 70 characters (`<a>(<a>(…`) take minutes. It has no limit of its own, but reads by `charCodeAt`.
 */
export class CountedText extends String {
  readonly #text: string;
  readonly #budget: ReadingBudget;

  constructor(text: string, budget: ReadingBudget) {
    super(text);
    this.#text = text;
    this.#budget = budget;
  }

  override charCodeAt(at: number): number {
    if (!this.#budget.parse(1)) throw new BudgetSpent();
    return this.#text.charCodeAt(at);
  }
}
