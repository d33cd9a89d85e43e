// The provider's signing keys, and the ways in which real providers exchange them.

import { generateKeyPairSync, randomBytes } from 'node:crypto';

const make = (kid) => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
  alg: 'RS256',
  use: 'sig',
});

const fresh = () => randomBytes(8).toString('hex');

export class SigningKeys {
  current = [make(fresh())]; // the first one signs
  cookieSecret = fresh();
  nonceSecret = randomBytes(32);

  private() {
    return { keys: structuredClone(this.current) };
  }

  // `keepOld`: old keys stay published. `sameKid`: a careless provider, a new key under the old name.
  rotate({ keep_old: keepOld = false, same_kid: sameKid = false }) {
    const next = make(sameKid ? this.current[0].kid : fresh());
    this.current = keepOld && !sameKid ? [next, ...this.current] : [next];
    return this.current.map((key) => key.kid);
  }
}
