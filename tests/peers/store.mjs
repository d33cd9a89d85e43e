// What the provider keeps, outside the provider: it outlives an exchange of the signing keys, and tests may look inside.

const now = () => Math.floor(Date.now() / 1000);

export class Store {
  entries = new Map(); // "Model:id" -> { payload, until }

  adapter() {
    const store = this;
    return class {
      constructor(model) {
        this.model = model;
      }

      async upsert(id, payload, expiresIn) {
        store.entries.set(`${this.model}:${id}`, { payload, until: expiresIn ? now() + expiresIn : Infinity });
      }

      async find(id) {
        return store.get(`${this.model}:${id}`);
      }

      async findByUid(uid) {
        return store.first(this.model, (payload) => payload.uid === uid);
      }

      async findByUserCode(code) {
        return store.first(this.model, (payload) => payload.userCode === code);
      }

      async consume(id) {
        const payload = store.get(`${this.model}:${id}`);
        if (payload) payload.consumed = now();
      }

      async destroy(id) {
        store.entries.delete(`${this.model}:${id}`);
      }

      async revokeByGrantId(grantId) {
        store.remove((_, payload) => payload.grantId === grantId);
      }
    };
  }

  get(key) {
    const entry = this.entries.get(key);
    return entry && entry.until > now() ? entry.payload : undefined;
  }

  all(model) {
    return [...this.entries].filter(([key]) => key.startsWith(`${model}:`)).map(([, { payload }]) => payload);
  }

  first(model, matches) {
    for (const key of this.entries.keys()) {
      const payload = key.startsWith(`${model}:`) ? this.get(key) : undefined;
      if (payload && matches(payload)) return payload;
    }
    return undefined;
  }

  remove(matches) {
    for (const [key, { payload }] of this.entries) {
      if (matches(key.split(':')[0], payload)) this.entries.delete(key);
    }
  }

  // Makes every sign-in look `seconds` older than it is: what `max_age` and `auth_time` are about.
  age(seconds) {
    for (const [key, { payload }] of this.entries) {
      if (key.startsWith('Session:') && payload.loginTs) payload.loginTs -= seconds;
    }
  }
}
