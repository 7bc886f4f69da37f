# SPDX-License-Identifier: Apache-2.0
"""The values of the phone assistant's fields: per field, those for training and those held out.

Values stand in the answer exactly as in the sentence. A held-out value is in no training row, in whatever field. Items
are plurals or uncountable, tasks follow "to", words follow "that", numbers fit after "a".
"""

# a field whose few values are the same in training and held out
CLOSED = {"state": ("on", "off")}


def _split(text):
    """The values of a block of lines, separated by commas."""
    return tuple(value.strip() for value in text.replace("\n", ",").split(",") if value.strip())


TRAIN = {
    "time": _split("""
        5 am, 6 am, 7 am, 8 am, 9 am, 10 am, 4:30, 4:45, 5:15, 5:40, 6:10, 6:20, 6:30, 6:45, 6:55, 7:00, 7:15, 7:30
        7:40, 7:50, 8:05, 8:15, 8:30, 9:00, 9:45, 4:50 am, 5:20 am, 5:35 am, 6:05 am, 6:25 am, 6:40 am, 7:05 am
        7:20 am, 7:55 am, 8:10 am, 8:35 am, 9:20 am, 10:15 am, 3:30 pm, 16:00
        """),
    "at": _split("""
        1 pm, 2 pm, 3 pm, 5 pm, 6 pm, 7 pm, 8 pm, 9 pm, noon, 9:40, 10:30, 11:00, 11:20, 12:15, 13:30, 14:45, 16:10
        17:55, 18:20, 19:00, 20:15, 8:50 am, 9:10 am, 9:50 am, 10:40 am, 11:30 am, 11:45 am, 12:30 pm, 1:30 pm
        2:15 pm, 2:50 pm, 3:40 pm, 4:05 pm, 4:20 pm, 5:20 pm, 5:45 pm, 6:10 pm, 6:35 pm, 7:15 pm, 8:40 pm
        """),
    "minutes": _split("""
        2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 15, 16, 19, 20, 21, 22, 24, 26, 27, 29, 30, 31, 32, 34, 36, 38, 39, 40
        41, 44, 45, 46, 49, 50, 51, 54, 55, 60, 65, 70, 75, 90
        """),
    "level": _split("""
        5, 8, 10, 11, 12, 15, 16, 18, 20, 22, 24, 27, 30, 32, 36, 38, 40, 44, 45, 49, 50, 54, 55, 60, 61, 63, 66
        68, 70, 72, 75, 77, 79, 80, 83, 86, 88, 90, 94, 95, 99, 100
        """),
    "person": _split("""
        Anna, José, Tom, Priya, Aunt Rosa, Ahmed, Emily, Kenji, Uncle Ben, Laura, Marco, Sophie, David, Fatima
        Grandma, Peter, Doctor Patel, Chloé, Lucas, Hannah, Omar, Nina Berg, Samuel, Ingrid, Paul Carter, Mei, Oliver
        Rachel, Diego, Julia, Mister Young, Victor, Sarah, Björn, Alice, Kevin, Carla Ruiz, Joseph, Amelie, Daniel
        Yusuf, Martha, Simon, Coach Reed, Helen
        """),
    "words": _split("""
        dinner is ready, I am on my way, the train is late, I will be home soon, the meeting is cancelled
        the keys are under the mat, we are at the beach, I found the tickets, the car is fixed, I miss you
        the party starts soon, I left my coat there, we won the game, I am stuck in traffic, the baby is asleep
        lunch was great, I passed the exam, the shop is closed, I will bring dessert, the dog has been fed
        we are almost there, I need a lift home, my phone was off, the plumber is here, I forgot the charger
        the parcel has arrived, we saved you a seat, I feel better today, the door is open, the film was boring
        I can not come tonight, the heating works again, our flight was delayed, I am at the office
        the cake is in the oven, we have a new puppy, the concert is sold out, I booked the hotel
        the bus never came, I am proud of you
        """),
    "city": _split("""
        London, Paris, Berlin, Madrid, Rome, Vienna, Oslo, Helsinki, Warsaw, Prague, Athens, Cairo, Nairobi, Tokyo
        Seoul, Beijing, Mumbai, Delhi, Sydney, Auckland, Toronto, Chicago, Boston, Seattle, Denver, Miami
        Mexico City, Lima, Bogotá, Buenos Aires, Zürich, Geneva, Munich, Brussels, Dublin, Edinburgh, Istanbul
        Singapore, New York, Cape Town, San Diego, Malmö
        """),
    "artist": _split("""
        Miles Davis, Nina Simone, David Bowie, Bob Marley, Johnny Cash, Ella Fitzgerald, Stevie Wonder, Björk
        Elton John, Aretha Franklin, Taylor Swift, Adele, Bruce Springsteen, Tina Turner, Louis Armstrong
        Frank Sinatra, Joni Mitchell, Leonard Cohen, Prince, Madonna, Céline Dion, Dolly Parton, Ray Charles
        Whitney Houston, Billie Holiday, Neil Young, Tracy Chapman, Paul Simon, Kate Bush, Marvin Gaye, Norah Jones
        Tom Waits, Janis Joplin, Sam Cooke, Bill Withers, Cat Stevens, Patti Smith, Chuck Berry, Duke Ellington, Shakira
        """),
    "item": _split("""
        milk, bread, eggs, butter, oat milk, olive oil, paper towels, bananas, rice, brown sugar, tomatoes, coffee
        green tea, onions, garlic, chicken wings, yogurt, apples, toothpaste, dish soap, flour, black pepper, carrots
        orange juice, potatoes, cheese, salt, cat food, light bulbs, frozen peas, honey, lemons, shampoo, noodles
        baking powder, red wine, peanut butter, spinach, candles, batteries, cereal, sour cream
        """),
    "place": _split("""
        Union Square, Greenfield Park, Hotel Astoria, Pier 7, Maple Street 12, Central Station, City Hall
        Riverside Mall, Saint Mary Hospital, Lincoln High School, Sunset Beach, Harbor Bridge, Terminal 2
        Victoria Station, Oakwood Cemetery, Mill Lane 40, Pine Valley, Kings Cross, Market Hall, Bluebird Cafe
        Westside Library, Eagle Stadium, North Gate, Rose Garden, Station Road 9, Silver Lake, Liberty Museum
        Hilltop Farm, Cedar Avenue, Golden Dragon Inn, Old Town, Fisher Wharf, Royal Theatre, Stone Creek, Franklin Zoo
        Baker Street, Grand Arena, Elm Court 3, Willow Clinic, Pizza Roma, Summit Tower, Jade Temple
        """),
    "task": _split("""
        water the plants, feed the cat, take my pills, pay the rent, walk the dog, lock the back door
        take out the trash, charge the laptop, empty the dishwasher, stretch my legs, drink some water
        pick up the kids, send the invoice, fold the laundry, check the oven, print the boarding pass
        practise the piano, renew my passport, bake a cake, clean the windows, iron a shirt, write to the landlord
        pack my suitcase, do my homework, order new glasses, book a table, sign the contract, mow the lawn
        close the curtains, read a chapter, buy flowers, sweep the floor, return the library books, go for a run
        defrost the soup, change the bed sheets, join the video meeting, fill up the tank, measure my blood pressure
        thank the neighbours
        """),
    "room": _split("""
        kitchen, bedroom, bathroom, hallway, garage, attic, basement, office, study, library, nursery, pantry
        laundry room, living room, guest room, playroom, workshop, garden, cellar, closet, corridor, entrance, gym
        sunroom, dining room, music room, barn, boiler room, lobby, storage room, meeting room, stairwell
        waiting room, reading room, cloakroom, hobby room, gallery, stable
        """),
    "phrase": _split("""
        good morning, thank you very much, where is the toilet, happy birthday, see you tomorrow, how much is it
        good night, I am hungry, one ticket please, nice to meet you, the bill please, I am lost, help me
        have a good trip, I do not understand, where is the bank, I love this town, no problem, welcome home
        what is your name, it is too expensive, a table for two, I like your hat, happy new year, excuse me
        turn left here, I am tired, can I pay by card, sleep well, it tastes wonderful, my bag is gone
        wait a moment, call a doctor, two beers please, get well soon, I am a vegetarian, how are you
        the soup is cold, good luck, do you speak English, good to see you
        """),
    "language": _split("""
        French, German, Italian, Portuguese, Dutch, Swedish, Danish, Norwegian, Finnish, Polish, Czech, Slovak
        Hungarian, Romanian, Greek, Turkish, Arabic, Hebrew, Hindi, Bengali, Tamil, Thai, Vietnamese, Korean
        Japanese, Russian, Ukrainian, Bulgarian, Croatian, Serbian, Estonian, Latvian, Latin, Urdu, Malay, Nepali
        Georgian, Maltese
        """),
}

HELDOUT = {
    "time": _split("4 am, 11 am, 5:25, 6:15, 6:50, 7:25, 8:20, 5:05 am, 6:35 am, 7:10 am, 8:45 am, 9:30 am"),
    "at": _split("""
        4 pm, 10:20, 11:50, 15:20, 18:05, 9:25 am, 10:50 am, 12:40 pm, 3:15 pm, 5:10 pm, 7:35 pm
        """),
    "minutes": _split("14, 17, 23, 25, 28, 33, 35, 37, 42, 47, 52, 56"),
    "level": _split("43, 48, 53, 57, 58, 62, 67, 74, 76, 82, 85, 96"),
    "person": _split("""
        Zoë, Robert, Maria, Grandpa, Hugo, Aunt Clara, Elena, Doctor Wong, Nathan, Isabel, Uncle Jack, Leo, Miriam
        Eric Nolan, Theresa, Gareth
        """),
    "words": _split("""
        the cat is back, I will be late, we missed the boat, lunch is at my place, I got the job
        the road is blocked, my battery is low, the guests have left, I am waiting outside, the rehearsal went well
        """),
    "city": _split("""
        Lisbon, Stockholm, Barcelona, Hamburg, Kyoto, São Paulo, Montreal, San Francisco, Budapest, Melbourne, Lagos
        """),
    "artist": _split("""
        Jimi Hendrix, Amy Winehouse, John Coltrane, Diana Ross, Otis Redding, Alicia Keys, Van Morrison, Rihanna
        Roy Orbison, Édith Piaf, Eric Clapton
        """),
    "item": _split("""
        strawberries, almond flour, soy sauce, trash bags, mushrooms, tomato paste, hand cream, cucumbers, cinnamon
        dark chocolate, mineral water
        """),
    "place": _split("""
        Trafalgar Square, Birch Road 15, Lakeview Hospital, Hotel Bellevue, Parkway Plaza, Memorial Stadium
        Chestnut Hill, Ocean Drive, National Gallery, Harvest Bakery, Castle Gardens
        """),
    "task": _split("""
        vacuum the carpet, ring the dentist, turn off the heater, buy a gift, put on sunscreen, update my resume
        collect the parcel, wash the car, prepare the slides, cancel the subscription, brush the horse
        """),
    "room": _split("""
        conservatory, greenhouse, lounge, shed, den, family room, utility room, studio, foyer, sauna, wine cellar
        """),
    "phrase": _split("""
        good evening, where is the station, I am thirsty, enjoy your meal, how old are you, the room is lovely
        see you next week, I need a taxi, what time is it, congratulations
        """),
    "language": _split("""
        Spanish, Chinese, Icelandic, Irish, Welsh, Swahili, Catalan, Basque, Lithuanian, Slovenian, Indonesian
        """),
}
