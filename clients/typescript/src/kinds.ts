/** The kinds of questions: the parameters of each, and the result when it is completed. Names are those of the API. */

export type Json = { [name: string]: unknown };

/** An account at a provider, as the provider names it. */
export interface Account {
  readonly id: string;
  readonly label: string;
}

/** What a provider said beside the tokens, by the names of its entry. */
export type Metadata = Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;

export interface CredentialsField {
  name: string;
  label: string;
  /** Whether the page hides what is typed. The default is true. */
  secret?: boolean;
  help?: string;
  pattern?: string;
}

/** One question of several behind one link. */
export type Step = { [K in Exclude<Kind, "steps">]: { kind: K; params: Params[K]; message?: string } }[Exclude<
  Kind,
  "steps"
>];

/** What a user allows with a mandate. Amounts are in minor units. */
export interface MandateLimits {
  /** At most for each charge. */
  per_charge: number;
  /** In 24 hours. */
  per_day?: number;
  /** In 30 days. */
  per_month?: number;
  /** In all. */
  total: number;
  /** The end, as an RFC 3339 time. */
  until: string;
  /** `before` announces each charge a day before, so that the user can refuse it; `after` is the default. */
  notice?: "before" | "after";
}

/**
 * What an amount is made of. The lines and the tax have to come to the amount. With the tax `"provider"` the payment
 * provider computes it, and the amount is the most that may be charged.
 */
export interface Order {
  lines: readonly { name: string; quantity?: number; unit_amount: number }[];
  tax?: number | "provider";
  number?: string;
  purpose?: string;
  /** Whether the provider makes an invoice of it. */
  invoice?: boolean;
}

interface PaymentParams {
  amount: number;
  currency: string;
  description: string;
  account?: string;
  mode?: "pay" | "save" | "subscribe";
  interval?: "day" | "week" | "month" | "year";
  trial_days?: number;
  item?: string;
  uses?: number;
  order?: Order;
}

/** Another price of a running subscription. */
interface PriceChangeParams {
  mode: "subscribe";
  /** The subscription's id. */
  changes: string;
  amount: number;
  currency: string;
  account?: string;
}

interface MandateParams {
  mode: "mandate";
  currency: string;
  description: string;
  account?: string;
  mandate: MandateLimits;
}

/** What a question of each kind takes as `params`. */
export interface Params {
  oauth: {
    provider: string;
    scopes?: readonly string[];
    /** Why a scope is needed, by its name. The user reads it below the scope. */
    reasons?: Record<string, string>;
    connection?: string;
    variables?: Record<string, string>;
  };
  payment: PaymentParams | MandateParams | PriceChangeParams;
  credentials: { fields?: readonly CredentialsField[]; provider?: string; seal_to?: Json };
  form: { schema?: Json; order?: readonly string[]; questions?: readonly Json[]; shared?: boolean };
  confirm: { detail?: string; danger?: boolean; confirm_label?: string; decline_label?: string };
  link: { url: string; completion?: "on_return" | "by_agent" };
  x402: { url: string; method?: string; challenge: Json; account?: string };
  steps: { steps: readonly Step[] };
}

/** What a completed question of each kind has as `result`. */
export interface Results {
  oauth: {
    connection: string;
    provider: string;
    scopes: string[];
    account: Account | null;
    label: string;
    metadata: Metadata;
    variables: Record<string, string>;
  };
  payment: {
    payment: string;
    livemode: boolean;
    amount: number;
    currency: string;
    status: "paid" | "active" | "saved";
    receipt_url: string | null;
    entitlement?: string;
    /** Of mode `mandate`: its id. */
    mandate?: string;
    /** Of mode `subscribe`: its id. */
    subscription?: string;
    order_number?: string;
    /** Of a change of its price. */
    price?: number;
    previous_price?: number;
    price_from?: string | null;
    /** Of the amount, if the provider has computed it. */
    tax?: number;
  };
  credentials: { connection: string; provider?: string; scopes?: string[]; account?: Account | null };
  form: { content: Json; skipped?: Json };
  confirm: { confirmed: true };
  link: Record<string, never>;
  x402: {
    authorization: string;
    livemode: boolean;
    network: string;
    payee: string;
    /** In the token's smallest unit. */
    amount: number;
    symbol: string;
    sign_by: string;
  };
  steps: { steps: { kind: Kind; result: Json }[] };
}

export type Kind = keyof Params;
